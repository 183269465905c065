import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { newAuthor } from "../../support/host/author.ts";
import { SLUG } from "../../support/host/marketplace-host.ts";
import { pluginHost } from "../../support/host/plugin-host.ts";
import { authorHub, pluginOf, signatureFields } from "../../support/hub/author-hub.ts";
import { isErrorBody, storedFiles } from "../../support/hub/harness.ts";

t.test("a revoked signer publishes and signs nothing, for good, and no host without its pin takes it", async (t) => {
  const { hub, publish, sign, signer } = await authorHub(t);
  const [author, stolen] = [newAuthor(), newAuthor()];
  t.equal((await publish("0.9.0")).status, 201, "before there is a register");
  for (const each of [author, stolen]) t.equal((await signer("add", each)).status, 201);
  t.equal((await publish("1.0.0", stolen)).status, 201);
  t.equal((await signer("revoke", stolen)).status, 200);
  const stored = await storedFiles(hub);
  isErrorBody(t, await publish("1.1.0", stolen), 403, "signer_refused");
  isErrorBody(t, await sign("0.9.0", signatureFields(stolen, pluginOf("0.9.0"))), 403, "signer_refused");
  isErrorBody(t, await signer("add", stolen), 409, "conflict");
  t.equal((await signer("retire", stolen)).status, 200);
  isErrorBody(t, await signer("add", stolen), 409, "conflict");
  isErrorBody(t, await publish("1.1.0", stolen), 403, "signer_refused");
  t.strictSame(await storedFiles(hub), stored);

  const connection = { hubUrl: hub.url, apiKey: hub.adminKey };
  const host = await pluginHost(t, { ...connection, trust: { pinned: [author.publicKey] } });
  const refused = { outcome: "failed", error: { code: "signer_untrusted", exitCode: 4 } };
  t.match(await host.deploy("1.0.0"), refused, "what it published before is still there");
  t.notOk(existsSync(join(host.root, "plugins", SLUG)));
  t.match(
    await readQuarantine(layoutOf(host.root), `plugin-${SLUG}`),
    [{ version: "1.0.0", code: "signer_untrusted" }],
    "and is held in quarantine",
  );
  t.equal((await publish("1.1.0", author)).status, 201);
  t.equal((await host.deploy("1.1.0")).outcome, "deployed");
  t.match(await host.deploy("1.0.0"), refused, "nor does it replace what runs");
});
