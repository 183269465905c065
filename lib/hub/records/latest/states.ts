import { sql } from "kysely";
import type { StateCause } from "../../../contract/version-states.ts";
import { BY_HUB, insertAudit } from "../audit.ts";
import { tellOfDeed } from "../hooks.ts";
import type { Queries, Transacted } from "../port.ts";
import { type Project, versionTable } from "../projects.ts";
import type { RolloutsTable } from "../rollout-tables.ts";
import { findLiveRollout, newestRolloutOf, standingOf } from "../rollouts.ts";
import { deleteWhere, selectWhere, updateWhere } from "../rows.ts";
import type { VersionStatesTable } from "./state-table.ts";

/**
 * The states of versions and the moves between them (docs/contract/rollouts.md#what-latest-means). Each move is part of
 * a transaction that has locked the target's row; {@link changeTarget} then renews the answers to `latest`.
 */

/** A target, as the moves name it. */
export type Target = Pick<Project, "id" | "kind" | "slug">;

/** The project id, or `kind/slug`: a target in the audit log and in reports. */
export const subjectOf = ({ id, kind, slug }: Target): string => (kind === "project" ? id : `${kind}/${slug}`);

/** Shapes a stored state as the wire has it. */
export const stateRecord = (row: Omit<VersionStatesTable, "project_id" | "version" | "reason" | "told_at">) => ({
  name: row.state,
  cause: row.cause,
  rollout: row.rollout_id,
  since: row.since,
  taken_back: Number(row.is_taken_back) !== 0,
});

export function findState(db: Queries, projectId: string, version: string): Promise<VersionStatesTable | undefined> {
  return selectWhere(db, "version_states", { project_id: projectId, version }).selectAll().executeTakeFirst();
}

/** Reads the states of versions of a target, by version; open ones are left out. */
export async function statesOf(
  db: Queries,
  projectId: string,
  versions?: readonly string[],
): Promise<ReadonlyMap<string, VersionStatesTable>> {
  if (versions?.length === 0) return new Map();
  const rows = await selectWhere(db, "version_states", { project_id: projectId })
    .$if(versions !== undefined, (query) => query.where("version", "in", versions!))
    .selectAll()
    .execute();
  return new Map(rows.map((row) => [row.version, row]));
}

/** Tells whether a version is published, yanked or not. */
export async function isPublished(db: Queries, { id, kind }: Target, version: string): Promise<boolean> {
  const { versions, project } = versionTable(kind);
  const { rows } = await sql`select 1 from ${versions} where ${project} = ${id} and version = ${version}`.execute(db);
  return rows.length > 0;
}

export interface Hold {
  cause: Exclude<StateCause, "started">;
  rollout: string;
  reason: string | null;
  /** Whether hosts that run the version go back; an earlier mark stays in any case. */
  isTakenBack?: boolean;
  /** Milliseconds since 1970. */
  now: number;
}

/** Holds a published version: nobody new gets it. Tells of the entry; a change of the cause is no new entry. */
export async function hold(transaction: Transacted, target: Target, version: string, given: Hold): Promise<void> {
  if (!(await isPublished(transaction, target, version))) return;
  const { cause, rollout, reason, isTakenBack = false, now } = given;
  const before = await findState(transaction, target.id, version);
  const at = new Date(now).toISOString();
  const isEntry = before?.state !== "held";
  await write(transaction, {
    ...{ project_id: target.id, version, state: "held", cause, rollout_id: rollout, reason },
    since: isEntry ? at : before.since,
    told_at: isEntry ? at : before.told_at,
    is_taken_back: isTakenBack || Number(before?.is_taken_back ?? 0) !== 0 ? 1 : 0,
  });
  if (!isEntry) return;
  const facts = { version, rollout, cause, reason };
  await insertAudit(transaction, { action: "version.hold", ...BY_HUB, subject: subjectOf(target), facts }, now);
}

/** Gives a published version to the hosts in the open waves of a rollout, whatever it was. */
export async function roll(
  transaction: Transacted,
  target: Target,
  version: string,
  { rollout, now }: Pick<Hold, "rollout" | "now">,
): Promise<void> {
  if (!(await isPublished(transaction, target, version))) return;
  const since = new Date(now).toISOString();
  await write(transaction, {
    ...{ project_id: target.id, version, state: "rolling", cause: "started", rollout_id: rollout },
    ...{ reason: null, since, told_at: null, is_taken_back: 0 },
  });
}

/** Opens a version to every host. @returns false when it was open */
export async function open(transaction: Transacted, { id }: Target, version: string): Promise<boolean> {
  const facts = { project_id: id, version };
  const { numDeletedRows } = await deleteWhere(transaction, "version_states", facts).executeTakeFirst();
  return numDeletedRows > 0n;
}

/**
 * Gives a new version the state that it has from its publication: its rollout decides, the live rollout of another
 * version, or the end of its newest rollout.
 *
 * @returns the state; undefined for an open version
 */
export async function enter(
  transaction: Transacted,
  target: Target,
  version: string,
  now: number,
): Promise<VersionStatesTable | undefined> {
  const live = await findLiveRollout(transaction, target.id);
  const newest = live ?? (await newestRolloutOf(transaction, target.id, version));
  if (newest === undefined) return undefined;
  const { id: rollout, state } = newest;
  if (newest.version !== version) {
    const reason = `Published beside the rollout of ${newest.version}.`;
    await hold(transaction, target, version, { cause: "beside", rollout, reason, now });
  } else if (state === "running" || state === "paused") await roll(transaction, target, version, { rollout, now });
  else if (state !== "completed")
    await hold(transaction, target, version, { cause: state, rollout, reason: reasonOf(newest), now });
  return findState(transaction, target.id, version);
}

const reasonOf = (rollout: Pick<RolloutsTable, "state" | "standing">): string | null => standingOf(rollout).reason;

/** Holds that nobody was told of since a time, with their targets. @param before ISO 8601 */
export function untoldHolds(
  db: Queries,
  before: string,
): Promise<(VersionStatesTable & Pick<Project, "kind" | "slug">)[]> {
  return db
    .selectFrom("version_states as s")
    .innerJoin("projects as p", "p.id", "s.project_id")
    .selectAll("s")
    .select(["p.kind", "p.slug"])
    .where("s.state", "=", "held")
    .where("s.told_at", "<", before)
    .execute();
}

/** Tells the features of a hold that goes on, unless another hub did. @param now milliseconds since 1970 */
export async function tellAgain(
  transaction: Transacted,
  row: VersionStatesTable & Pick<Project, "kind" | "slug">,
  now: number,
): Promise<void> {
  if (!(await noteTold(transaction, row, new Date(now).toISOString()))) return;
  const { project_id: id, kind, slug, version, rollout_id: rollout, cause, reason } = row;
  const facts = { version, rollout, cause, reason };
  await tellOfDeed(
    transaction,
    { action: "version.hold", ...BY_HUB, subject: subjectOf({ id, kind, slug }), facts },
    now,
  );
}

/** Notes that a hold was told of again. @returns false when another hub did, or the version is no longer held */
async function noteTold(transaction: Transacted, row: VersionStatesTable, now: string): Promise<boolean> {
  const { project_id, version, told_at } = row;
  const { numUpdatedRows } = await updateWhere(transaction, "version_states", { project_id, version, told_at })
    .set({ told_at: now })
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

function write(transaction: Transacted, row: VersionStatesTable): Promise<unknown> {
  const { project_id: _id, version: _version, ...changes } = row;
  return transaction
    .insertInto("version_states")
    .values(row)
    .onConflict((conflict) => conflict.columns(["project_id", "version"]).doUpdateSet(changes))
    .execute();
}
