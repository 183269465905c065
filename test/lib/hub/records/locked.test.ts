/** A change rests on rows that its own transaction has locked: anything else does not compile. */
import t from "tap";
import { newProject } from "../../../../lib/hub/access/new-project.ts";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import type { Locked } from "../../../../lib/hub/records/locked.ts";
import { inTransaction, type Queries } from "../../../../lib/hub/records/port.ts";
import {
  findProject,
  insertProject,
  lockProject,
  type Project,
  renameProject,
} from "../../../../lib/hub/records/projects.ts";

t.test("a row is locked and changed by one transaction, and a fact of it may leave", async (t) => {
  const database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir() });
  t.teardown(() => database.close());
  const db = database.kysely;
  const { id } = await inTransaction(db, async (transaction) => {
    const added = newProject({ kind: "project", name: "Harbour" }, "acme", Date.now());
    await insertProject(transaction, added);
    const project = await lockProject(transaction, added.id);
    await renameProject(transaction, project, `${project.name} of ${project.owner}`);
    return { id: project.id };
  });
  t.match(await findProject(db, id), { name: "Harbour of acme" });
  t.type(misused, "function", "nobody calls it: the compiler refuses each of its changes");
});

/** Changes that do not compile: `npm run typecheck` holds each line to it. */
async function misused(db: Queries, outside: Project, kept: Locked<Project, unknown>[]): Promise<void> {
  const { id, name } = outside;
  await inTransaction(db, async (transaction) => {
    const project = await lockProject(transaction, id);
    // @ts-expect-error a row that was read outside
    await renameProject(transaction, outside, name);
    // @ts-expect-error a copy of a locked row
    await renameProject(transaction, { ...project }, name);
    // @ts-expect-error a copy with another fact
    await renameProject(transaction, { ...project, owner: "next" }, name);
    // @ts-expect-error a row that leaves by a variable
    kept.push(project);
    await inTransaction(db, async (other) => {
      // @ts-expect-error a row of another transaction
      await renameProject(other, project, name);
    });
  });
  // @ts-expect-error a row that leaves as the outcome
  await inTransaction(db, async (transaction) => lockProject(transaction, id));
  // @ts-expect-error a row that leaves within the outcome
  await inTransaction(db, async (transaction) => ({ project: await lockProject(transaction, id) }));
}
