import t from "tap";
import { startStaging } from "../../support/hub/staging.ts";

t.test("a staged version whose signer was revoked or retired since cannot be approved", async (t) => {
  const { hub, project, stager, approver, upload, staged, approve } = await startStaging(t);
  await upload(stager.key, "1.0.0", "true");
  const [{ signer_public_key: signer }] = (await staged(approver.key)) as [{ signer_public_key: string }];
  const key = Buffer.from(signer, "base64").toString("hex");
  const signers = `/devkeys/projects/${project}/signers`;
  const add = () => hub.call("POST", signers, { json: { public_key: key } });
  t.equal((await add()).status, 201);
  const refused = (why: RegExp) => ({ status: 403, body: { code: "signer_refused", detail: why } });
  await hub.call("POST", `${signers}/${key}/retire`, { json: {} });
  t.match(await approve(approver.key, "1.0.0"), refused(/was retired/));
  t.equal((await add()).status, 201);
  t.equal((await hub.call("POST", `${signers}/${key}/revoke`, { json: { reason: "stolen" } })).status, 200);
  t.match(await approve(approver.key, "1.0.0"), refused(/was revoked/));
  t.match(await staged(approver.key), [{ version: "1.0.0" }], "it waits to be rejected");
});
