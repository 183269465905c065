import t from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import { contentsOf } from "../../../../lib/hub/records/project-deletion.ts";
import { findProject } from "../../../../lib/hub/records/projects.ts";
import { createProject, publication, startHub } from "../../../support/hub/harness.ts";

t.test("a hub without features counts nothing of theirs in what a deletion takes", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  t.equal((await project.publish(publication("1.0.0"))).status, 201);
  await hub.hub.close();
  // Their tables stay, as migrations name them.
  const hooks = FEATURES.map(({ name, tables }) => ({ name, ...(tables && { tables }) }));
  const database = await openDatabase({ hooks, dataDir: hub.dataDir });
  t.teardown(() => database.close());
  const found = await findProject(database.kysely, project.id);
  const none = { hosts: 0, reporting_hosts: 0, rollouts: 0, signers: 0, grants: 0, webhooks: 0 };
  t.strictSame(await contentsOf(database.kysely, found!, new Date().toISOString()), { versions: 1, keys: 1, ...none });
});
