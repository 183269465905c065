import t, { type Test } from "tap";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { startStaging } from "../../../../support/hub/staging.ts";

async function isNotRolledOut(t: Test, databaseUrl?: string): Promise<void> {
  const { hub, project, stager, approver, upload } = await startStaging(t, {
    ...(databaseUrl !== undefined && { databaseUrl }),
  });
  await upload(stager.key, "1.1.0", "true");
  const json = { version: "1.1.0", allow_empty_wave: true };
  t.match(await hub.call("POST", `/devkeys/projects/${project}/rollouts`, { key: approver.key, json }), {
    status: 409,
    body: { detail: /1\.1\.0 is staged/ },
  });
}

t.test("a staged version is not rolled out, on SQLite", async (t) => isNotRolledOut(t));

t.test("a staged version is not rolled out, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await isNotRolledOut(t, databaseUrl);
});

t.test("an approved version is held, or rolled out, as one that is published at that moment", async (t) => {
  const { hub, project, stager, approver, upload, approve } = await startStaging(t);
  await upload(approver.key, "1.0.0");
  await upload(stager.key, "1.2.0", "true");
  await upload(stager.key, "1.1.0", "true");
  await hub.call("POST", `/devkeys/projects/${project}/versions/1.1.0/yank`, { key: approver.key });
  t.match(await approve(approver.key, "1.1.0"), { status: 409, body: { detail: /was yanked/ } });
  await hub.call("DELETE", `/devkeys/projects/${project}/versions/1.1.0/yank`, { key: approver.key });
  const json = { version: "1.3.0", waves: ["100%"] };
  const started = await hub.call("POST", `/devkeys/projects/${project}/rollouts`, { key: approver.key, json });
  t.equal(started.status, 201, started.bytes.toString());
  await upload(stager.key, "1.3.0", "true");
  t.match(await approve(approver.key, "1.2.0"), { body: { versions: [{ state: { name: "held", cause: "beside" } }] } });
  t.match(await approve(approver.key, "1.3.0"), { body: { versions: [{ state: { name: "rolling" } }] } });
});
