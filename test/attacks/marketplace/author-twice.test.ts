import t from "tap";
import { newAuthor } from "../../support/host/author.ts";
import { SLUG } from "../../support/host/marketplace-host.ts";
import { authorHub, pluginOf, signatureFields } from "../../support/hub/author-hub.ts";
import { isErrorBody, storedFiles } from "../../support/hub/harness.ts";

t.test("a signature that is given twice is not published, whichever of the two is right", async (t) => {
  const { hub, publishForm } = await authorHub(t);
  const [author, other] = [newAuthor(), newAuthor()];
  const mine = Object.entries(signatureFields(author, pluginOf("1.0.0")));
  const theirs = Object.entries(signatureFields(other, pluginOf("1.0.0")));
  const [signature, signer] = mine;
  const forms = {
    "the same fields again": [...mine, ...mine],
    "another author's first": [...theirs, ...mine],
    "another author's last": [...mine, ...theirs],
    "the signature alone": [...mine, signature!],
    "the key alone": [...mine, signer!],
  };
  for (const [what, fields] of Object.entries(forms))
    await t.test(what, async (t) => isErrorBody(t, await publishForm("1.0.0", fields), 400, "bad_request"));
  t.strictSame(await storedFiles(hub), []);
});

t.test("a version that is signed keeps its signature, whoever signs again", async (t) => {
  const { hub, publish, sign } = await authorHub(t);
  const [author, other] = [newAuthor(), newAuthor()];
  t.equal((await publish("1.0.0", author)).status, 201);
  const install = async () => (await hub.call("GET", `/app/marketplace/plugins/${SLUG}/install?version=1.0.0`)).headers;
  const before = await install();
  isErrorBody(t, await sign("1.0.0", signatureFields(other, pluginOf("1.0.0"))), 409, "conflict");
  isErrorBody(t, await publish("1.0.0", other), 409, "version_exists");
  t.equal((await sign("1.0.0", signatureFields(author, pluginOf("1.0.0")))).status, 204);
  for (const name of ["x-signature-ed25519", "x-signer"]) t.equal((await install()).get(name), before.get(name), name);
  const list = Object.values(signatureFields(author, pluginOf("1.0.0")));
  isErrorBody(t, await sign("1.0.0", { signature_ed25519: list, signer_public_key: list }), 422, "unprocessable");
});
