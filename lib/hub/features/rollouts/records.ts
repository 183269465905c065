import { sql } from "kysely";
import type { RolloutRules, RolloutState, WaitingFor } from "../../../contract/rollouts/records.ts";
import type { PageRange, Queries, Transacted } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { selectWhere } from "../../records/rows.ts";
import { SUBJECT_SQL } from "../../records/subjects.ts";
import type { RolloutsTable } from "./tables.ts";

/** Ended rollouts kept per project, not counting those of unpublished versions. */
const KEPT = 100;

/** The database with the table of rollouts. */
const own = (db: Queries) => db.withTables<{ rollouts: RolloutsTable }>();

const rolloutsWhere = (db: Queries, facts: Partial<RolloutsTable>) => selectWhere(own(db), "rollouts", facts);

const LIVE: RolloutState[] = ["running", "paused", "halted"];

/** Rollout, with the facts of its target that a decision needs. */
export interface StoredRollout extends RolloutsTable, Pick<Project, "kind" | "slug" | "owner" | "latest_version"> {
  /** Name of the target. */
  name: string;
  /** Gate of the target, as JSON (latest/gate.ts). */
  gate: string | null;
}

/** Progress of a rollout, without its hosts. Times are milliseconds since 1970. */
export interface RolloutStatus {
  state: RolloutState;
  reason: string | null;
  /** Number of open waves, counted from the first. */
  open: number;
  openedAt: number | null;
  /** Since when enough hosts of the open waves have run the version. */
  soakingSince: number | null;
  /** Number of waves that a person has approved; one more than there are approves the completion. */
  approved: number;
  waitingFor: WaitingFor | null;
  /** When the waiting ends by itself. */
  until: number | null;
  endedAt: number | null;
}

export const FIRST_STATUS: RolloutStatus = {
  ...{ state: "running", reason: null, open: 0, openedAt: null, soakingSince: null, approved: 0 },
  ...{ waitingFor: null, until: null, endedAt: null },
};

export const rulesOf = ({ rules }: Pick<RolloutsTable, "rules">): RolloutRules => JSON.parse(rules) as RolloutRules;

export const statusOf = ({ state, standing }: Pick<RolloutsTable, "state" | "standing">): RolloutStatus => ({
  ...(JSON.parse(standing) as Omit<RolloutStatus, "state">),
  state,
});

export function statusColumns({ state, ...standing }: RolloutStatus): Pick<RolloutsTable, "state" | "standing"> {
  return { state, standing: JSON.stringify(standing) };
}

export const isLive = ({ state }: Pick<RolloutsTable, "state">): boolean => LIVE.includes(state);

const withProject = (db: Queries) =>
  own(db)
    .selectFrom("rollouts as r")
    .innerJoin("projects as p", "p.id", "r.project_id")
    .selectAll("r")
    .select(["p.kind", "p.slug", "p.owner", "p.name", "p.latest_version", "p.gate"]);

/** Facts that show whether a rollout needs another decision. */
export interface RolloutPulse extends Pick<StoredRollout, "id" | "project_id" | "kind" | "slug" | "owner" | "gate"> {
  revision: number;
  /** Change number of the owner's view; null before its first report. */
  changes: number | null;
  forgotten: number | null;
}

/**
 * Reads the pulse of every rollout that a report or the time may still change, in one query.
 *
 * @param now ISO 8601 @param projectId of one target only
 */
export function rolloutPulses(db: Queries, now: string): Promise<RolloutPulse[]> {
  return own(db)
    .selectFrom("rollouts as r")
    .innerJoin("projects as p", "p.id", "r.project_id")
    .leftJoin("views as v", (join) =>
      join
        .on((eb) =>
          eb("v.holder", "=", eb.case().when("p.kind", "=", "project").then("").else(eb.ref("p.owner")).end()),
        )
        .on((eb) =>
          eb(
            "v.target",
            "=",
            eb.case().when("p.kind", "=", "project").then(eb.ref("p.id")).else(sql.raw<string>(SUBJECT_SQL)).end(),
          ),
        ),
    )
    .select(["r.id", "r.project_id", "r.revision", "p.kind", "p.slug", "p.owner", "p.gate"])
    .select(["v.changes", "v.forgotten"])
    .where((eb) => eb.or([eb("r.state", "in", LIVE), eb("r.counted_until", ">", now)]))
    .execute();
}

/** Lists the rollouts of one target that a report or the time may still change. @param now ISO 8601 */
export const changingRollouts = (db: Queries, projectId: string, now: string): Promise<StoredRollout[]> =>
  withProject(db)
    .where("r.project_id", "=", projectId)
    .where((eb) => eb.or([eb("r.state", "in", LIVE), eb("r.counted_until", ">", now)]))
    .execute();

export const findRollout = (db: Queries, projectId: string, id: string): Promise<StoredRollout | undefined> =>
  withProject(db).where("r.id", "=", id).where("r.project_id", "=", projectId).executeTakeFirst();

/** Finds the rollout of a project that has not ended. */
export const findLiveRollout = (db: Queries, projectId: string): Promise<StoredRollout | undefined> =>
  withProject(db).where("r.project_id", "=", projectId).where("r.state", "in", LIVE).executeTakeFirst();

/** Finds the newest rollout of a version, live or ended. */
export const newestRolloutOf = (db: Queries, projectId: string, version: string): Promise<RolloutsTable | undefined> =>
  rolloutsWhere(db, { project_id: projectId, version }).selectAll().orderBy("id", "desc").limit(1).executeTakeFirst();

export async function countRollouts(db: Queries, projectId: string): Promise<number> {
  const { count } = await rolloutsWhere(db, { project_id: projectId })
    .select((eb) => eb.fn.countAll<number | string>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Removes all rollouts of a project. */
export async function removeRollouts(transaction: Transacted, projectId: string): Promise<void> {
  await own(transaction).deleteFrom("rollouts").where("project_id", "=", projectId).execute();
}

/** SQL expression that differs after each change of the rollouts of `projects p`. */
export const REVISIONS = "(SELECT SUM(r.revision) FROM rollouts r WHERE r.project_id = p.id)";

/** Lists rollouts, newest first; pages are by id, which sorts by creation. */
export const listRollouts = (db: Queries, projectId: string, { after, limit }: PageRange): Promise<StoredRollout[]> =>
  withProject(db)
    .where("r.project_id", "=", projectId)
    .$if(after !== "", (query) => query.where("r.id", "<", after))
    .orderBy("r.id", "desc")
    .limit(limit)
    .execute();

/**
 * Stores a new rollout, and removes the oldest ended ones of its project. Keeps those of unpublished versions, which
 * decide the state at publication.
 */
export async function insertRollout(transaction: Transacted, rollout: RolloutsTable): Promise<void> {
  await own(transaction).insertInto("rollouts").values(rollout).execute();
  const old = await rolloutsWhere(transaction, { project_id: rollout.project_id })
    .select("id")
    .where("state", "not in", LIVE)
    .where(
      sql<boolean>`(exists (select 1 from versions v where v.project_id = rollouts.project_id
          and v.version = rollouts.version and (v.state is null or v.state <> 'staged'))
        or exists (select 1 from deleted_versions d where d.project_id = rollouts.project_id
          and d.version = rollouts.version))`,
    )
    .orderBy("id", "desc")
    .offset(KEPT)
    .limit(KEPT)
    .execute();
  if (old.length === 0) return;
  const ids = old.map(({ id }) => id);
  await own(transaction).deleteFrom("rollouts").where("id", "in", ids).execute();
}

/** Changes a rollout that is still as it was read. @returns false when another hub or person was faster */
export async function changeRollout(
  db: Queries,
  { id, revision }: Pick<RolloutsTable, "id" | "revision">,
  changes: Partial<RolloutsTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await own(db)
    .updateTable("rollouts")
    .where("id", "=", id)
    .where("revision", "=", revision)
    .set({ ...changes, revision: Number(revision) + 1 })
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Changes a rollout whose target's row this transaction has locked; overrides concurrent decisions of hubs. */
export async function overrideRollout(
  transaction: Transacted,
  id: string,
  changes: Partial<RolloutsTable>,
): Promise<void> {
  await own(transaction)
    .updateTable("rollouts")
    .where("id", "=", id)
    .set((eb) => ({ ...changes, revision: eb("revision", "+", 1) }))
    .execute();
}

/** Ends or halts a rollout whose target's row this transaction has locked. @param now milliseconds since 1970 */
export async function endRollout(
  transaction: Transacted,
  row: StoredRollout,
  {
    state,
    reason,
    now,
  }: { state: "halted" | "completed" | "aborted" | "replaced"; reason: string | null; now: number },
): Promise<void> {
  const standing = { ...statusOf(row), state, reason, waitingFor: null, until: null };
  const hasEnded = state !== "halted";
  await overrideRollout(transaction, row.id, {
    ...statusColumns(hasEnded ? { ...standing, endedAt: now } : { ...standing, soakingSince: null }),
    ...(hasEnded && { base_version: row.latest_version }),
  });
}

/** Returns what became of a version of a target. */
export async function versionFate(
  db: Queries,
  { id }: Pick<Project, "id">,
  version: string,
): Promise<"published" | "unpublished" | "staged" | "yanked" | "deleted"> {
  const { rows } = await sql<{ is_yanked: number | null; state: string | null; is_deleted: number }>`select
    (select is_yanked from versions where project_id = ${id} and version = ${version}) as is_yanked,
    (select state from versions where project_id = ${id} and version = ${version}) as state,
    (select count(*) from deleted_versions where project_id = ${id} and version = ${version}) as is_deleted`.execute(
    db,
  );
  const { is_yanked: isYanked, is_deleted: isDeleted, state } = rows[0]!;
  if (Number(isDeleted) > 0) return "deleted";
  if (state === "staged") return "staged";
  if (isYanked === null) return "unpublished";
  return Number(isYanked) === 0 ? "published" : "yanked";
}
