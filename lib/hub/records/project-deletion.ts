import { type ProjectContents, projectContents } from "../../contract/surfaces/keys.ts";
import type { FleetKey } from "./fleet.ts";
import { hooksOf } from "./hooks.ts";
import { clearHosts } from "./host-rows.ts";
import { lockKeys } from "./keys.ts";
import type { Locked } from "./locked.ts";
import { inTransaction, isPostgres, type Queries, type TransactedIn } from "./port.ts";
import type { Project } from "./projects.ts";
import { clearReports } from "./report-history.ts";
import { deleteWhere, selectWhere, updateWhere } from "./rows.ts";
import type { Schema } from "./schema.ts";
import { fleetOf } from "./subjects.ts";

/**
 * Counts what deleting a project would remove. @param silentBefore ISO 8601; hosts last heard of since still report to
 * it
 */
export async function contentsOf(db: Queries, project: Project, silentBefore: string): Promise<ProjectContents> {
  const { id } = project;
  const count = async (table: keyof Schema, facts: object): Promise<number> => {
    const { count: found } = await selectWhere(db, table as "hosts", facts)
      .select((eb) => eb.fn.countAll<number | string>().as("count"))
      .executeTakeFirstOrThrow();
    return Number(found);
  };
  // Reports of other owners about a plugin or service stay theirs.
  const { holder, target } = fleetOf(project);
  // Those of every owner: their hosts lose the versions, too.
  const views = await selectWhere(db, "views", { target }).select(["holder", "target"]).execute();
  let reporting = 0;
  for (const view of views) {
    const { hosts } = await selectWhere(db, "hosts", view)
      .where("heard_at", ">=", silentBefore)
      .select((eb) => eb.fn.countAll<number | string>().as("hosts"))
      .executeTakeFirstOrThrow();
    reporting += Number(hosts);
  }
  // The answer has a count of what each feature keeps, also in a hub without it.
  let kept = Object.fromEntries(Object.keys(projectContents.shape).map((what) => [what, 0]));
  for (const hooks of hooksOf(db)) kept = { ...kept, ...(await hooks.contentsOf?.(db, project)) };
  return projectContents.parse({
    ...kept,
    versions: await count("versions", { project_id: id }),
    hosts: await count("hosts", { holder, target }),
    reporting_hosts: reporting,
    keys: await count("api_keys", { project_id: id }),
    signers: await count("signers", { project_id: id }),
    grants: await count("grants", { target_id: id }),
  });
}

/**
 * Deletes a project, plugin or service with everything that belongs to it, except its fleet, which {@link clearFleets}
 * removes in steps. The slug of a plugin or service is never used again: hosts may still follow it.
 *
 * @param now ISO 8601
 * @returns the ids of blobs that are no longer needed
 */
export async function deleteProject<In>(
  transaction: TransactedIn<In>,
  project: Locked<Project, In>,
  now: string,
): Promise<string[]> {
  const { id, kind, slug, owner } = project;
  // The row's other lock lets rows that refer to it be added, such as sessions: it could not be deleted then.
  if (isPostgres(transaction)) await selectWhere(transaction, "projects", { id }).select("id").forUpdate().execute();
  await lockKeys(transaction, { project_id: id });
  const removed = await deleteWhere(transaction, "blobs", { project_id: id }).returning("id").execute();
  for (const table of ["versions", "deleted_versions", "signers"] as const)
    await deleteWhere(transaction, table, { project_id: id }).execute();
  await deleteWhere(transaction, "grants", { target_id: id }).execute();

  const ownKeys = selectWhere(transaction, "api_keys", { project_id: id }).select("id");
  for (const table of ["sessions", "deployment_credentials"] as const)
    await transaction
      .deleteFrom(table)
      .where((eb) => eb.or([eb("project_id", "=", id), eb("key_id", "in", ownKeys)]))
      .execute();
  await deleteWhere(transaction, "api_keys", { project_id: id }).execute();

  for (const hooks of hooksOf(transaction)) await hooks.onDelete?.(transaction, project, now);
  await transaction
    .insertInto("deleted_projects")
    .values({ id, kind, slug, owner, deleted_at: now, cleared_at: null })
    .execute();
  await deleteWhere(transaction, "projects", { id }).execute();
  return removed.map((row) => row.id);
}

/** Returns when the plugin or service of this slug was deleted; undefined when none was. */
export async function deletedAt(
  db: Queries,
  { kind, slug }: Pick<Project, "kind" | "slug">,
): Promise<string | undefined> {
  const row = await selectWhere(db, "deleted_projects", { kind, slug }).select("deleted_at").executeTakeFirst();
  return row?.deleted_at;
}

/** Removes the fleets of deleted projects: hosts, labels and reports. Continues an interrupted removal. */
export async function clearFleets(db: Queries, now: () => string): Promise<number> {
  const due = await selectWhere(db, "deleted_projects", { cleared_at: null }).selectAll().execute();
  for (const project of due) {
    await clearFleet(db, fleetOf(project));
    await updateWhere(db, "deleted_projects", { id: project.id }).set({ cleared_at: now() }).execute();
  }
  return due.length;
}

async function clearFleet(db: Queries, { holder, target }: FleetKey): Promise<void> {
  await clearHosts(db, { holder, target });
  await clearReports(db, { holder, target });
  await inTransaction(db, async (transaction) => {
    // Locks the view's row first, as reports do: a host that has reported meanwhile stays.
    await updateWhere(transaction, "views", { holder, target })
      .set((eb) => ({ bytes: eb.ref("bytes") }))
      .execute();
    const host = await selectWhere(transaction, "hosts", { holder, target }).select("host_id").limit(1).execute();
    if (host.length === 0) await deleteWhere(transaction, "views", { holder, target }).execute();
  });
}
