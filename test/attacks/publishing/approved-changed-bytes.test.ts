import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { startStaging } from "../../support/hub/staging.ts";

t.test("an approval of bytes that have changed since publishes nothing", async (t) => {
  const { hub, project, stager, approver, upload, staged, approve } = await startStaging(t);
  await upload(stager.key, "1.0.0", "true");
  const [{ sha256 }] = (await staged(approver.key)) as [{ sha256: string }];
  const json = { reason: "to stage other bytes" };
  await hub.call("POST", `/devkeys/staging/${project}/1.0.0/reject`, { key: stager.key, json });
  await upload(stager.key, "1.0.0", "true");
  t.match(await approve(approver.key, "1.0.0", sha256), { status: 409, body: { code: "approval_differs" } });
  t.equal((await staged(approver.key)).length, 1, "it still waits");
});

t.test("bytes that take the place of lost ones are not approved with them", async (t) => {
  const { hub, project, stager, approver, newKey, upload, approve } = await startStaging(t);
  await upload(stager.key, "1.0.0", "true");
  t.equal((await approve(approver.key, "1.0.0")).status, 200);
  const rule = { key: approver.key, json: { required: true } };
  await hub.call("PUT", `/devkeys/projects/${project}/approval`, rule);
  const blobs = join(hub.dataDir, "blobs");
  for (const name of await readdir(blobs, { recursive: true }))
    if (/art_[^/]*$/.test(name)) await rm(join(blobs, name));
  const publisher = await newKey(["publish"]);
  t.match(await upload(publisher.key, "1.0.0"), { status: 403, body: { code: "approval_required" } });
  t.match(await upload(publisher.key, "1.0.0", "true"), { status: 201, body: { state: { name: "staged" } } });
  const listed = await hub.call("GET", `/devkeys/projects/${project}/versions`);
  t.match(listed.body.items, [{ version: "1.0.0", approved_by: null, approved_at: undefined }]);
});
