// Holds: the form of trust roots (lib/artifact/trust/root.ts, lib/artifact/trust/edit.ts)
/** `@tufjs/models` as the other implementation: it reads what is written here, and what it writes is read here. */
import { sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { Metadata, MetadataKind, type Root, Signature } from "@tufjs/models";
import t from "tap";
import { changedRoot, keysOfRoot, newRoot, signedBy } from "../../../../lib/artifact/trust/edit.ts";
import { rootSigner } from "../../../../lib/artifact/trust/keys.ts";
import { anchoredRoot, nextRoot, parseRoot } from "../../../../lib/artifact/trust/root.ts";
import { p256Key } from "../../../support/forged/p256-roots.ts";
import { heldKey, rootChain } from "../../../support/forged/roots.ts";

type Json = Parameters<typeof Metadata.fromJSON>[1];
const read = (text: string): Metadata<Root> => Metadata.fromJSON(MetadataKind.Root, JSON.parse(text) as Json);
const pemOf = ({ privateKey }: ReturnType<typeof heldKey>): Buffer =>
  Buffer.from(privateKey.export({ format: "pem", type: "pkcs8" }));

t.test("tuf-js verifies the roots that sealift makes, with keys of both kinds", (t) => {
  const [a, b, c, ci] = [heldKey(), p256Key(), heldKey(), heldKey()].map((held, index) =>
    rootSigner(pemOf(held), String(index)),
  );
  const named = [a!, b!, c!].map(({ key }, index) => ({ key, name: `holder ${index} ✓ "quoted" \\` }));
  const made = newRoot({ root: named, signers: [{ key: ci!.key }], threshold: 2 }, Date.now());
  const once = signedBy(parseRoot(made, "1"), b!);
  const first = read(once);
  t.throws(() => first.verifyDelegate("root", first), "one signature is too few");
  const text = signedBy(parseRoot(once, "1"), a!);
  const whole = read(text);
  whole.verifyDelegate("root", whole);
  t.equal(whole.signed.version, 1);
  const current = anchoredRoot(text, "1");
  const next = changedRoot(current, keysOfRoot(current), Date.now());
  const second = signedBy(parseRoot(signedBy(parseRoot(next, "2"), c!), "2"), b!);
  whole.verifyDelegate("root", read(second));
  t.equal(nextRoot(current, second, "2").version, 2);
  t.end();
});

t.test("tuf-js verifies the vectors", (t) => {
  const [one, two, three] = [1, 2, 3].map((version) =>
    read(readFileSync(new URL(`../../../vectors/trust/${version}.root.json`, import.meta.url), "utf8")),
  ) as [Metadata<Root>, Metadata<Root>, Metadata<Root>];
  for (const [by, root] of [
    [one, one],
    [one, two],
    [two, two],
    [two, three],
    [three, three],
  ] as const)
    by.verifyDelegate("root", root);
  t.throws(() => three.verifyDelegate("root", two), "two of its three have signed");
  t.end();
});

t.test("what tuf-js writes is read and followed", (t) => {
  const chain = rootChain();
  const signer = heldKey();
  const first = anchoredRoot(chain.version(1, [signer]), "1");
  const next = read(chain.version(2, [signer], { by: [] }));
  for (const { id, privateKey } of chain.holders.slice(1))
    next.sign((data) => new Signature({ keyID: id, sig: sign(null, data, privateKey).toString("hex") }));
  const text = JSON.stringify(next.toJSON());
  t.match(nextRoot(first, text, "2"), { version: 2, signers: [signer.hex] });
  t.end();
});
