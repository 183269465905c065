import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { marketplaceHost, pluginZip, SLUG } from "../../../support/host/marketplace-host.ts";
import { DEVELOPER_SECRET, signatureOf } from "../../../support/hub/marketplace-hub.ts";

t.test("a plugin of the marketplace can be read by the user who runs it", async (t) => {
  const host = await marketplaceHost(t);
  for (const folder of [host.installed, join(host.installed, "src")])
    t.equal((statSync(folder).mode & 0o777).toString(8), "755");
});

t.test("a secret that has verified nothing here yet condemns no version, one that has does", async (t) => {
  const host = await marketplaceHost(t);
  const target = `plugin-${SLUG}` as const;
  const held = () => readQuarantine(layoutOf(host.root), target);
  const bytes = pluginZip([{ name: "src/main.js", content: "export default 2;\n" }]);
  const mistyped = { source: { signingSecret: "mistyped" } };

  const version = host.offer(bytes);
  const refused = await host.deploy(undefined, mistyped);
  t.match(refused, { outcome: "failed", error: { code: "signature_invalid", exitCode: 4, hint: /verified nothing/ } });
  t.same(await held(), [], "the version is good: the secret was mistyped");

  host.offer(bytes, { "x-signature": signatureOf(bytes, "another developer") });
  t.match(await host.deploy(), { error: { code: "signature_invalid" } });
  t.match(await held(), [{ version: /^1\.1\./ }], "under the secret that has verified 1.0.0 the bytes are wrong");
  t.not((await held())[0]?.version, version);

  const file = join(host.root, ".sealift/trust", `${target}.proof`);
  t.equal((statSync(file).mode & 0o777).toString(8), "600");
  t.notMatch(readFileSync(file, "utf8"), DEVELOPER_SECRET, "the secret itself is not kept");
});
