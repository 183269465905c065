import { sql } from "kysely";
import { latestOf, type VersionFacts } from "../../contract/versions.ts";
import type { View } from "./fleet.ts";
import type { PageRange, Queries, Statements, Transacted } from "./port.ts";
import { versionTable } from "./projects.ts";
import type { RolloutsTable } from "./rollout-tables.ts";
import { selectWhere, updateWhere } from "./rows.ts";
import type { HostsTable } from "./schema.ts";

/** Rollouts that have ended, kept of each project. */
const KEPT = 100;
/** Hosts of one page. */
const PAGE_HOSTS = 500;

const HOST = "SELECT record, steps, labels FROM hosts WHERE holder = ? AND target = ? AND host_id = ?";
const CHANGED = `SELECT host_id, change, record, seen_at, labels FROM hosts
  WHERE holder = ? AND target = ? AND change > ? ORDER BY change LIMIT ${PAGE_HOSTS}`;

/** A rollout with the facts of its project that its evaluation needs. */
export interface StoredRollout extends RolloutsTable {
  kind: "plugin" | "service" | "project";
  slug: string;
  owner: string;
}

const withProject = (db: Queries) =>
  db
    .selectFrom("rollouts as r")
    .innerJoin("projects as p", "p.id", "r.project_id")
    .selectAll("r")
    .select(["p.kind", "p.slug", "p.owner"]);

/** Lists the rollouts of all projects that a report or the time may still change. They are few. */
export const liveRollouts = (db: Queries): Promise<StoredRollout[]> =>
  withProject(db).where("r.state", "in", ["running", "paused", "halted"]).execute();

export const findRollout = (db: Queries, projectId: string, id: string): Promise<StoredRollout | undefined> =>
  withProject(db).where("r.id", "=", id).where("r.project_id", "=", projectId).executeTakeFirst();

/** Finds the rollout of a project that has not ended. */
export const findLiveRollout = (db: Queries, projectId: string): Promise<StoredRollout | undefined> =>
  withProject(db)
    .where("r.project_id", "=", projectId)
    .where("r.state", "in", ["running", "paused", "halted"])
    .executeTakeFirst();

/** Newest first; pages by id, which sorts by creation. */
export const listRollouts = (db: Queries, projectId: string, { after, limit }: PageRange): Promise<StoredRollout[]> =>
  withProject(db)
    .where("r.project_id", "=", projectId)
    .$if(after !== "", (query) => query.where("r.id", "<", after))
    .orderBy("r.id", "desc")
    .limit(limit)
    .execute();

/** Stores a new rollout, and removes the oldest ones of its project that have ended. */
export async function insertRollout(transaction: Transacted, rollout: RolloutsTable): Promise<void> {
  await transaction.insertInto("rollouts").values(rollout).execute();
  const old = await selectWhere(transaction, "rollouts", { project_id: rollout.project_id })
    .select("id")
    .where("state", "not in", ["running", "paused", "halted"])
    .orderBy("id", "desc")
    .offset(KEPT)
    .limit(KEPT)
    .execute();
  if (old.length === 0) return;
  const ids = old.map(({ id }) => id);
  await transaction.deleteFrom("rollouts").where("id", "in", ids).execute();
}

/** Changes a rollout that is still as it was read. @returns false when another hub or person was faster */
export async function changeRollout(
  transaction: Transacted,
  { id, revision }: Pick<RolloutsTable, "id" | "revision">,
  changes: Partial<RolloutsTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await updateWhere(transaction, "rollouts", { id, revision })
    .set({ ...changes, revision: Number(revision) + 1 })
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Sets what "latest" means for the hosts of a project. @param gate as JSON; null for the same to all */
export async function writeGate(transaction: Transacted, projectId: string, gate: string | null): Promise<void> {
  await updateWhere(transaction, "projects", { id: projectId }).set({ rollout: gate }).execute();
}

/** Tells what has become of a version. */
export async function versionFate(
  db: Queries,
  { project_id: projectId, kind, version }: Pick<StoredRollout, "project_id" | "kind" | "version">,
): Promise<"published" | "unpublished" | "yanked" | "deleted"> {
  const { versions, project } = versionTable(kind);
  const { rows } = await sql<{ is_yanked: number | null; is_deleted: number }>`select
    (select is_yanked from ${versions} where ${project} = ${projectId} and version = ${version}) as is_yanked,
    (select count(*) from deleted_versions where project_id = ${projectId} and version = ${version}) as is_deleted`.execute(
    db,
  );
  const { is_yanked: isYanked, is_deleted: isDeleted } = rows[0]!;
  if (Number(isDeleted) > 0) return "deleted";
  if (isYanked === null) return "unpublished";
  return Number(isYanked) === 0 ? "published" : "yanked";
}

/** Finds the best version of a project beside one, among those from before a moment. */
export async function bestBeside(
  db: Queries,
  { project_id: projectId, kind, version }: Pick<StoredRollout, "project_id" | "kind" | "version">,
  before: string,
): Promise<VersionFacts | undefined> {
  const { versions, project } = versionTable(kind);
  const { rows } = await sql<{ version: string; created_at: string }>`select version, created_at from ${versions}
    where ${project} = ${projectId} and is_yanked = 0 and version <> ${version} and created_at <= ${before}`.execute(
    db,
  );
  return latestOf(rows);
}

/** Reads the record of a host, its steps, and the labels that an operator gave it: one indexed read. */
export async function findHost(
  statements: Statements,
  { holder, target }: View,
  hostId: string,
): Promise<Pick<HostsTable, "record" | "steps" | "labels"> | undefined> {
  return (await statements.first(HOST, [holder, target, hostId])) as HostsTable | undefined;
}

type ChangedHost = Pick<HostsTable, "host_id" | "change" | "record" | "seen_at" | "labels">;

/** Reads the hosts of a view that changed after a change, page by page in the order of their changes. */
export async function* changedHosts(
  statements: Statements,
  { holder, target }: View,
  since: number,
): AsyncGenerator<ChangedHost[]> {
  for (let after = since; ;) {
    const page = (await statements.all(CHANGED, [holder, target, after])) as unknown as ChangedHost[];
    if (page.length > 0) yield page;
    if (page.length < PAGE_HOSTS) return;
    after = Number(page.at(-1)!.change);
  }
}

/**
 * Gives a host labels in place of those that it has of itself; null takes that back.
 *
 * @returns false when the view has no such host
 */
export async function labelHost(
  transaction: Transacted,
  { holder, target }: View,
  hostId: string,
  labels: string | null,
): Promise<boolean> {
  // The view's row first, as reports do: its lock keeps changes in their order.
  const view = await updateWhere(transaction, "views", { holder, target })
    .set((eb) => ({ changes: eb("changes", "+", 1) }))
    .returning("changes")
    .executeTakeFirst();
  if (view === undefined) return false;
  const { numUpdatedRows } = await updateWhere(transaction, "hosts", { holder, target, host_id: hostId })
    .set({ labels, change: Number(view.changes) })
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
