/** Somebody who stages a version trusts a workflow of their own, and would approve by its key. */
import t from "tap";
import { startWorkflow } from "../../support/hub/publishers.ts";
import { startStaging } from "../../support/hub/staging.ts";

t.test("a workflow approves nothing of those who have trusted it, and its key is not replaced", async (t) => {
  const staging = await startStaging(t, { issuerAllow: ["127.0.0.1"] });
  const { hub, project, newKey, upload, staged, approve } = staging;
  const { trust, run, exchange } = await startWorkflow(t, { hub });
  const mallory = await newKey(["keys", "publish"]);
  const child = await hub.call("POST", "/devkeys/api-keys", {
    ...{ key: mallory.key, json: { name: "child", scopes: ["publish"] } },
  });
  t.equal((await trust({ target: `project:${project}` }, mallory.key)).status, 201);
  const got = (await exchange(`project:${project}`, await run())).body;
  await upload(mallory.key, "1.0.0", "true");
  await upload(child.body.key as string, "1.1.0", "true");
  const own = { status: 403, body: { code: "own_approval", detail: /that trusts this workflow/ } };
  for (const version of ["1.0.0", "1.1.0"]) t.match(await approve(got.key as string, version), own);
  t.match(await staged(got.key as string), [{ may_approve: false }, { may_approve: false }]);
  const path = `/devkeys/api-keys/${got.key_id as string}/rotate`;
  t.equal((await hub.call("POST", path, { key: got.key as string, json: {} })).status, 409);
  // What a workflow stages, the one who trusts it may approve: somebody else has written it.
  await upload(got.key as string, "1.2.0", "true");
  t.equal((await approve(mallory.key, "1.2.0")).status, 200);
});

t.test("a workflow that an administrator has trusted approves what another one has staged", async (t) => {
  const { hub, project, stager, upload, approve } = await startStaging(t, { issuerAllow: ["127.0.0.1"] });
  const { trust, run, exchange } = await startWorkflow(t, { hub });
  await trust({ target: `project:${project}` });
  await upload(stager.key, "1.0.0", "true");
  const { key } = (await exchange(`project:${project}`, await run())).body;
  t.equal((await approve(key as string, "1.0.0")).status, 200);
});
