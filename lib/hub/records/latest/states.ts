import type { StateCause } from "../../../contract/version-states.ts";
import { BY_HUB, insertAudit } from "../audit.ts";
import { runAuditHooks } from "../hooks.ts";
import type { Queries, Transacted } from "../port.ts";
import type { Project } from "../projects.ts";
import { selectWhere, updateWhere } from "../rows.ts";
import { subjectOf } from "../subjects.ts";
import { type Marks, OPEN, type VersionsTable } from "../version-tables.ts";

/**
 * States of versions and moves between them (docs/contract/rollouts.md#what-latest-means). Each move is part of a
 * transaction that has locked the target's row; {@link changeTarget} then renews the answers to `latest`.
 */

/** Target of a move. */
export type TargetRow = Pick<Project, "id" | "kind" | "slug">;

/** Converts the state of a version to its form on the wire; undefined for an open one. */
export const stateRecord = (row: Marks) =>
  row.state === null
    ? undefined
    : {
        name: row.state,
        cause: row.state_cause!,
        ...(row.state_rollout !== null && { rollout: row.state_rollout }),
        since: row.state_since!,
        taken_back: row.is_taken_back !== 0,
      };

/** Reads the marks of a version; undefined for an unpublished one. */
export const findMarks = (db: Queries, projectId: string, version: string): Promise<VersionsTable | undefined> =>
  selectWhere(db, "versions", { project_id: projectId, version }).selectAll().executeTakeFirst();

/**
 * Changes marks of a version.
 *
 * @param only values that the version must still have
 * @returns false when there is no such version
 */
export async function markVersion(
  transaction: Transacted,
  only: Pick<VersionsTable, "project_id" | "version"> & Partial<VersionsTable>,
  marks: Partial<Marks>,
): Promise<boolean> {
  const { numUpdatedRows } = await updateWhere(transaction, "versions", only).set(marks).executeTakeFirst();
  return numUpdatedRows > 0n;
}

export interface Hold {
  cause: Exclude<StateCause, "started" | "uploaded">;
  rollout: string;
  reason: string | null;
  /** Whether hosts that run the version go back; an earlier mark stays in any case. */
  isTakenBack?: boolean;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Holds a published version: no new host gets it. Writes an audit entry when the hold begins; a new cause alone is
 * none. Leaves a staged version as it is.
 */
export async function hold(transaction: Transacted, target: TargetRow, version: string, given: Hold): Promise<void> {
  const before = await findMarks(transaction, target.id, version);
  if (before === undefined || before.state === "staged") return;
  const { cause, rollout, reason, isTakenBack = false, now } = given;
  const at = new Date(now).toISOString();
  const isEntry = before.state !== "held";
  await markVersion(
    transaction,
    { project_id: target.id, version },
    {
      ...{ state: "held", state_cause: cause, state_rollout: rollout, state_reason: reason },
      ...(isEntry && { state_since: at, told_at: at }),
      is_taken_back: isTakenBack || before.is_taken_back !== 0 ? 1 : 0,
    },
  );
  if (!isEntry) return;
  const facts = { version, rollout, cause, reason };
  await insertAudit(transaction, { action: "version.hold", ...BY_HUB, subject: subjectOf(target), facts }, now);
}

/**
 * Stages a version that has just been stored: no host gets it before its approval. Writes an audit entry, as for a
 * hold.
 */
export async function stageVersion(
  transaction: Transacted,
  target: TargetRow,
  version: string,
  now: number,
): Promise<void> {
  const at = new Date(now).toISOString();
  const marks = { ...OPEN, state: "staged", state_cause: "uploaded", state_since: at, told_at: at } as const;
  await markVersion(transaction, { project_id: target.id, version }, marks);
  const facts = { version, cause: marks.state_cause, reason: null };
  await insertAudit(transaction, { action: "version.hold", ...BY_HUB, subject: subjectOf(target), facts }, now);
}

/** Makes a published version rolling, whatever its state: hosts of open waves get it. */
export async function roll(
  transaction: Transacted,
  target: TargetRow,
  version: string,
  { rollout, now }: Pick<Hold, "rollout" | "now">,
): Promise<void> {
  const state_since = new Date(now).toISOString();
  await markVersion(
    transaction,
    { project_id: target.id, version },
    {
      ...{ state: "rolling", state_cause: "started", state_rollout: rollout },
      ...{ state_reason: null, state_since, told_at: null, is_taken_back: 0 },
    },
  );
}

/** Opens a version to every host. */
export async function open(transaction: Transacted, { id }: TargetRow, version: string): Promise<void> {
  await markVersion(transaction, { project_id: id, version }, OPEN);
}

type HeldVersion = VersionsTable & Pick<Project, "kind" | "slug">;

/** Lists the versions on hold that were last announced before a time, with their targets. @param before ISO 8601 */
export function untoldHolds(db: Queries, before: string): Promise<HeldVersion[]> {
  return db
    .selectFrom("versions as v")
    .innerJoin("projects as p", "p.id", "v.project_id")
    .selectAll("v")
    .select(["p.kind", "p.slug"])
    .where("v.told_at", "<", before)
    .execute();
}

/** Announces a continuing hold again, unless another hub did. @param now milliseconds since 1970 */
export async function tellAgain(transaction: Transacted, row: HeldVersion, now: number): Promise<void> {
  const { project_id: id, kind, slug, version, told_at } = row;
  const announced = { told_at: new Date(now).toISOString() };
  // Another hub may have announced it, or the hold may be over.
  if (!(await markVersion(transaction, { project_id: id, version, told_at }, announced))) return;
  const facts = { version, rollout: row.state_rollout, cause: row.state_cause, reason: row.state_reason };
  await runAuditHooks(
    transaction,
    { action: "version.hold", ...BY_HUB, subject: subjectOf({ id, kind, slug }), facts },
    now,
  );
}
