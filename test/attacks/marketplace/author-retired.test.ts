import t from "tap";
import { newAuthor } from "../../support/host/author.ts";
import { pluginHost } from "../../support/host/plugin-host.ts";
import { authorHub, pluginOf, signatureFields } from "../../support/hub/author-hub.ts";
import { isErrorBody, storedFiles } from "../../support/hub/harness.ts";

t.test("a retired signer adds nothing to what it has signed before", async (t) => {
  const { hub, publish, sign, signer } = await authorHub(t);
  const [author, retired] = [newAuthor(), newAuthor()];
  t.equal((await publish("0.9.0")).status, 201, "before there is a register");
  for (const each of [author, retired]) t.equal((await signer("add", each)).status, 201);
  t.equal((await publish("1.0.0", retired)).status, 201);
  t.equal((await signer("retire", retired)).status, 200);
  const stored = await storedFiles(hub);
  isErrorBody(t, await publish("1.1.0", retired), 403, "signer_refused");
  isErrorBody(t, await sign("0.9.0", signatureFields(retired, pluginOf("0.9.0"))), 403, "signer_refused");
  t.strictSame(await storedFiles(hub), stored);

  const host = await pluginHost(t, {
    ...{ hubUrl: hub.url, apiKey: hub.adminKey, trust: { pinned: [author.publicKey, retired.publicKey] } },
  });
  t.equal((await host.deploy("1.0.0")).outcome, "deployed", "what it signed in its time stays good");
  t.match(await host.deploy("0.9.0"), { outcome: "failed", error: { code: "signature_missing", exitCode: 4 } });
  t.equal((await signer("add", retired)).status, 201, "it may come back");
  t.equal((await publish("1.1.0", retired)).status, 201);
});
