import t from "tap";
import { marketplaceSource } from "../../../lib/agent/sources/marketplace.ts";
import { hasAhead } from "../../../lib/releases/ahead.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { newAuthor, pinning } from "../../support/host/author.ts";
import { marketplaceHost, pluginZip, SLUG } from "../../support/host/marketplace-host.ts";
import { DEVELOPER_SECRET, MARKETPLACE_KEY } from "../../support/hub/marketplace-hub.ts";

t.test("an author's signature of other bytes is refused before anything is unpacked", async (t) => {
  const host = await marketplaceHost(t);
  const author = newAuthor();
  const bytes = pluginZip([{ name: "src/main.js", content: "export default 2;\n" }]);
  for (const signed of [pluginZip([]), bytes.subarray(1), Buffer.concat([bytes, Buffer.alloc(1)]), Buffer.alloc(0)]) {
    host.offer(bytes, author.headers(signed));
    await host.refuses(t, { code: "signature_invalid" }, pinning(author));
    const checks = host.events.flatMap((event) => (event.event === "verify.ok" ? [event.check] : []));
    t.strictSame(checks, [], "neither the archive nor the HMAC is called right");
  }
  const version = host.offer(bytes, author.headers(bytes));
  const { source } = pinning(author);
  const result = await host.deploy(version, { source: { ...source, allowVersionMismatch: true } });
  t.equal(result.outcome, "deployed", "its own signature passes");
  const checks = host.events.flatMap((event) => (event.event === "verify.ok" ? [event.check] : []));
  t.strictSame(checks.slice(0, 2), ["hmac", "signature"]);
});

t.test("nor is one that is fetched ahead kept with such a signature", async (t) => {
  const host = await marketplaceHost(t);
  const author = newAuthor();
  const bytes = pluginZip([{ name: "src/main.js", content: "export default 2;\n" }]);
  const ahead = async (signed: Buffer) => {
    const version = host.offer(bytes, author.headers(signed));
    const source = marketplaceSource({
      ...{ hubUrl: host.hub.url, apiKey: MARKETPLACE_KEY, timeoutMs: 10_000, kind: "plugin", slug: SLUG, version },
      ...{ signingSecret: DEVELOPER_SECRET, trust: { pinned: [author.publicKey] }, symlinks: "refuse" },
    });
    const { signal } = new AbortController();
    const layout = layoutOf(host.root);
    return source.fetchAhead!({ layout, target: `plugin-${SLUG}`, emit: () => undefined, signal });
  };
  await t.rejects(ahead(pluginZip([])), { code: "signature_invalid" });
  t.notOk(await hasAhead(layoutOf(host.root), `plugin-${SLUG}`));
  t.match(await ahead(bytes), { bytes: bytes.length });
});
