import { rm } from "node:fs/promises";
import t from "tap";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { type Author, newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost, SLUG } from "../../support/host/marketplace-host.ts";

const zipOf = (version: string) =>
  forgedZip([descriptorEntry(SLUG, version), { name: "src/main.js", content: version }]);

t.test("a version that is not signed, or by a key that is not pinned, is refused", async (t) => {
  const host = await marketplaceHost(t);
  const [author, second, stranger] = [newAuthor(), newAuthor(), newAuthor()];
  const held = async () =>
    (await readQuarantine(layoutOf(host.root), `plugin-${SLUG}`)).map(({ version, code }) => [version, code]);

  const unsigned = host.offer(zipOf("1.1.0"));
  await host.refuses(t, { code: "signature_missing" }, pinning(author));
  t.notOk(
    host.events.some(({ event }) => event === "fetch.started"),
    "before its bytes are read",
  );
  t.strictSame(await held(), [[unsigned, "signature_missing"]], "and held in quarantine");

  const foreign = host.offer(zipOf("1.1.1"), stranger.headers(zipOf("1.1.1")));
  await host.refuses(
    t,
    { code: "signer_untrusted", says: stranger.publicKey.toString("hex") },
    pinning(author, second),
  );
  t.notOk(
    host.events.some(({ event }) => event === "fetch.started"),
    "before its bytes are read",
  );
  t.strictSame(
    await held(),
    [
      [unsigned, "signature_missing"],
      [foreign, "signer_untrusted"],
    ],
    "held, too",
  );

  const version = host.offer(zipOf("1.1.2"), second.headers(zipOf("1.1.2")));
  t.equal((await host.deploy(version, pinning(author, second))).outcome, "deployed", "either of two pins");
});

t.test("the public key in the place of the private one signs nothing", async (t) => {
  const host = await marketplaceHost(t);
  const author = newAuthor();
  const forger = newAuthor(Uint8Array.from(author.publicKey));
  host.offer(zipOf("1.1.0"), forger.headers(zipOf("1.1.0")));
  await host.refuses(t, { code: "signer_untrusted", says: "pinned public key as a private one" }, pinning(author));
});

t.test("trust on first use keeps the first author, and takes no version without one", async (t) => {
  const host = await marketplaceHost(t);
  const [author, stranger] = [newAuthor(), newAuthor()];
  const first = { source: { trust: { onFirstUse: true as const }, allowVersionMismatch: false } };
  const signedBy = (who: Author, version: string) => host.offer(zipOf(version), who.headers(zipOf(version)));
  host.offer(zipOf("1.1.0"));
  await host.refuses(t, { code: "signature_missing" }, first);
  t.equal((await host.deploy(signedBy(author, "1.1.1"), first)).outcome, "deployed");
  signedBy(stranger, "1.1.2");
  await host.refuses(t, { code: "trust_changed" }, first);
  host.offer(zipOf("1.1.3"));
  await host.refuses(t, { code: "signature_missing" }, first);
  t.equal((await host.deploy(signedBy(author, "1.1.4"), first)).outcome, "deployed");
  await rm(layoutOf(host.root).trust(`plugin-${SLUG}`));
  t.equal((await host.deploy(signedBy(stranger, "1.1.5"), first)).outcome, "deployed", "until a person forgets it");
});
