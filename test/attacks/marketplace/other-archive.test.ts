/**
 * A hub that answers with another archive of the same developer, whose signature holds: it was installed, and
 * `plugin.sig` written for it.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { marketplaceHost, SLUG } from "../../support/host/marketplace-host.ts";

const strict = { source: { allowVersionMismatch: false }, options: { pluginSecretKey: "a key" } };
const refused = { code: "descriptor_mismatch" } as const;

t.test("another plugin of the same developer is refused", async (t) => {
  const host = await marketplaceHost(t);
  host.offer(forgedZip([descriptorEntry("admin-shell", "1.1.0"), { name: "src/main.js", content: "x" }]));
  await host.refuses(t, refused, strict);
  await host.refuses(t, refused, { ...strict, source: { allowVersionMismatch: true } });
  t.notOk(existsSync(join(host.installed, "plugin.sig")));
});

t.test("another version of the plugin is refused, unless the operator lets it pass", async (t) => {
  const host = await marketplaceHost(t);
  const version = host.offer(forgedZip([descriptorEntry(SLUG, "0.1.0"), { name: "src/main.js", content: "x" }]));
  await host.refuses(t, { ...refused, says: "0.1.0" }, strict);
  const result = await host.deploy(version, { source: { allowVersionMismatch: true } });
  t.equal(result.outcome, "deployed");
});

t.test("a leading v is no other version", async (t) => {
  const host = await marketplaceHost(t);
  for (const [label, described] of [
    ["v2.0.0", "2.0.0"],
    ["2.0.1", "v2.0.1"],
  ] as const) {
    host.offer(forgedZip([descriptorEntry(SLUG, described), { name: "src/main.js", content: label }]));
    host.hub.release = { ...host.hub.release, version: label };
    const result = await host.deploy(label, { source: { allowVersionMismatch: false } });
    t.equal(result.outcome, "deployed", result.error?.message ?? label);
  }
});
