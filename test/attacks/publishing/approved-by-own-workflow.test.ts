/** Somebody who stages a version trusts a workflow of their own, and would approve by its key, or the reverse. */
import t, { type Test } from "tap";
import { startWorkflow, type Workflow } from "../../support/hub/publishers.ts";
import { type StagingHub, startStaging } from "../../support/hub/staging.ts";

const OWN = { status: 403, body: { code: "own_approval", detail: /a workflow that it trusts/ } };

async function started(t: Test): Promise<StagingHub & Workflow & { keyOf: (changes?: object) => Promise<string> }> {
  const staging = await startStaging(t, { issuerAllow: ["127.0.0.1"] });
  const workflow = await startWorkflow(t, { hub: staging.hub });
  const target = `project:${staging.project}`;
  return {
    ...{ ...staging, ...workflow, hub: staging.hub },
    keyOf: async (changes) => (await workflow.exchange(target, await workflow.run({ ...changes }))).body.key as string,
  };
}

t.test("a workflow and those who have trusted it approve nothing of each other's", async (t) => {
  const { hub, project, newKey, upload, staged, approve, approver, trust, run, exchange } = await started(t);
  const mallory = await newKey(["keys", "publish"]);
  const child = await hub.call("POST", "/devkeys/api-keys", {
    ...{ key: mallory.key, json: { name: "child", scopes: ["publish"] } },
  });
  t.equal((await trust({ target: `project:${project}` }, mallory.key)).status, 201);
  const got = (await exchange(`project:${project}`, await run())).body;
  await upload(mallory.key, "1.0.0", "true");
  await upload(child.body.key as string, "1.1.0", "true");
  for (const version of ["1.0.0", "1.1.0"]) t.match(await approve(got.key as string, version), OWN);
  t.match(await staged(got.key as string), [{ may_approve: false }, { may_approve: false }]);
  const path = `/devkeys/api-keys/${got.key_id as string}/rotate`;
  t.equal((await hub.call("POST", path, { key: got.key as string, json: {} })).status, 409);
  // An issuer of one's own says of any run what one likes.
  await upload(got.key as string, "1.2.0", "true");
  for (const key of [mallory.key, child.body.key as string]) t.match(await approve(key, "1.2.0"), OWN);
  t.equal((await approve(approver.key, "1.2.0")).status, 200, "somebody else does");
});

t.test("a second run of a workflow does not approve what the first one has staged", async (t) => {
  const { hub, project, newKey, upload, approve, approver, trust, keyOf } = await started(t);
  const mallory = await newKey(["keys", "publish"]);
  const { id } = (await trust({ target: `project:${project}` }, mallory.key)).body as { id: string };
  await upload(await keyOf(), "1.0.0", "true");
  t.match(await approve(await keyOf({ run_id: "1002" }), "1.0.0"), OWN);
  // Nor by another publisher of the same person, after the first one and its keys are gone.
  t.equal((await hub.call("DELETE", `/devkeys/publishers/${id}`)).status, 204);
  await trust({ target: `project:${project}`, name: "again" }, mallory.key);
  t.match(await approve(await keyOf({ run_id: "1003" }), "1.0.0"), OWN);
  t.match(await approve(mallory.key, "1.0.0"), OWN);
  t.equal((await approve(approver.key, "1.0.0")).status, 200);
});

t.test("a workflow that an administrator has trusted approves what another person has staged", async (t) => {
  const { hub, project, stager, upload, approve, trust, keyOf } = await started(t);
  await trust({ target: `project:${project}` });
  await upload(stager.key, "1.0.0", "true");
  t.equal((await approve(await keyOf(), "1.0.0")).status, 200);
  await upload(hub.adminKey, "1.1.0", "true");
  t.match(await approve(await keyOf({ run_id: "7" }), "1.1.0"), OWN, "but not what the administrator has");
});
