import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { newAuthor } from "../../support/host/author.ts";
import { SLUG } from "../../support/host/marketplace-host.ts";
import { pluginHost } from "../../support/host/plugin-host.ts";
import { authorHub, pluginOf, signatureFields } from "../../support/hub/author-hub.ts";
import { isErrorBody, storedFiles } from "../../support/hub/harness.ts";

t.test("a signer that nobody has registered gets past neither the hub nor a host", async (t) => {
  const { hub, publish, sign, signer } = await authorHub(t);
  const [author, stranger] = [newAuthor(), newAuthor()];
  t.equal((await publish("1.0.0", stranger)).status, 201, "without a register anybody with a key of the hub signs");
  t.equal((await publish("1.1.0")).status, 201);
  t.equal((await signer("add", author)).status, 201);
  const stored = await storedFiles(hub);
  isErrorBody(t, await publish("1.2.0", stranger), 403, "signer_refused");
  isErrorBody(t, await sign("1.1.0", signatureFields(stranger, pluginOf("1.1.0"))), 403, "signer_refused");
  isErrorBody(t, await sign("1.0.0", signatureFields(author, pluginOf("1.0.0"))), 409, "conflict");
  t.strictSame(await storedFiles(hub), stored);

  const host = await pluginHost(t, {
    ...{ hubUrl: hub.url, apiKey: hub.adminKey, trust: { pinned: [author.publicKey] } },
  });
  t.match(await host.deploy("1.0.0"), { outcome: "failed", error: { code: "signer_untrusted", exitCode: 4 } });
  t.notOk(existsSync(join(host.root, "plugins", SLUG)));
});
