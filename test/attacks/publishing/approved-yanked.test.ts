import t from "tap";
import { startStaging } from "../../support/hub/staging.ts";

t.test("a staged version that was yanked cannot be approved, also among others", async (t) => {
  const { hub, project, stager, approver, upload, staged, approve } = await startStaging(t);
  for (const version of ["1.0.0", "1.1.0"]) await upload(stager.key, version, "true");
  const json = { reason: "a password in it" };
  const yank = `/devkeys/projects/${project}/versions/1.1.0/yank`;
  t.equal((await hub.call("POST", yank, { key: approver.key, json })).status, 204);
  const refused = { status: 409, body: { code: "conflict", detail: /1\.1\.0 was yanked: a password in it/ } };
  t.match(await approve(approver.key, "1.1.0"), refused);
  const waiting = (await staged(approver.key)) as { version: string; sha256: string }[];
  const versions = waiting.map(({ version, sha256 }) => ({ project_id: project, version, sha256 }));
  t.match(await hub.call("POST", "/devkeys/staging/approve", { key: approver.key, json: { versions } }), refused);
  t.equal((await staged(approver.key)).length, 2, "the other one waits, too");
});
