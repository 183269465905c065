import type { TargetChanges } from "../../contract/surfaces/marketplace.ts";
import { requireNotDeleted } from "./deleted-versions.ts";
import { admit } from "./hooks.ts";
import { changeTarget } from "./latest/change-target.ts";
import type { VersionStatesTable } from "./latest/state-table.ts";
import { enter, findState, statesOf } from "./latest/states.ts";
import { inTransaction, type PageRange, type Queries } from "./port.ts";
import type { Project } from "./projects.ts";
import { deleteWhere, newestWhere, selectWhere, updateWhere } from "./rows.ts";
import { type Version, versionRecord } from "./target-detail.ts";

/** A version with the state that its transaction has left it in; undefined for an open one. */
export type Placed<Row> = Row & { state: VersionStatesTable | undefined };

/** Returns the facts of a version that stay when its lost bytes are published again: labels rank by their time. */
export const lastingFacts = ({
  created_at,
  is_yanked,
  yanked_reason,
}: Pick<Version, "created_at" | "is_yanked" | "yanked_reason">) => ({ created_at, is_yanked, yanked_reason });

/** Changes what an owner says of a target; what `changes` leaves out stays. @param now milliseconds since 1970 */
export async function describeTarget(
  db: Queries,
  targetId: string,
  changes: TargetChanges,
  now: number,
): Promise<void> {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  await inTransaction(db, (transaction) =>
    changeTarget(transaction, targetId, now, async () => {
      if (given.length > 0)
        await updateWhere(transaction, "projects", { id: targetId }).set(Object.fromEntries(given)).execute();
    }),
  );
}

export function findVersion(db: Queries, targetId: string, version: string): Promise<Version | undefined> {
  return selectWhere(db, "releases", { target_id: targetId, version }).selectAll().executeTakeFirst();
}

export async function findVersionById(db: Queries, id: string): Promise<Placed<Version> | undefined> {
  const row = await selectWhere(db, "releases", { id }).selectAll().executeTakeFirst();
  return row && { ...row, state: await findState(db, row.target_id, row.version) };
}

/**
 * Makes a version visible.
 *
 * @param lost id of a version whose bytes are gone: the new one takes its place
 * @returns what is stored of this version: the new record, or an earlier one
 */
export function insertVersion(
  db: Queries,
  added: Version,
  { visibility, lost }: { visibility: Project["visibility"] | undefined; lost: string | undefined },
): Promise<Placed<Version>> {
  const { target_id: targetId, version } = added;
  const now = Date.parse(added.created_at);
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, targetId, now, async (target, touch) => {
      const existing = await findVersion(transaction, targetId, version);
      if (existing !== undefined && existing.id !== lost)
        return { ...existing, state: await findState(transaction, targetId, version) };
      await requireNotDeleted(transaction, targetId, version);
      if (lost !== undefined) await deleteWhere(transaction, "releases", { id: lost }).execute();
      await admit(transaction, { projectId: targetId, bytes: added.size_bytes, versions: 1 });
      // A version that is published again is what it was: in its rank, and in its state.
      const stored = { ...added, ...(existing && lastingFacts(existing)) };
      await transaction.insertInto("releases").values(stored).execute();
      if (visibility !== undefined)
        await updateWhere(transaction, "projects", { id: targetId }).set({ visibility }).execute();
      touch(version);
      if (existing === undefined) return { ...stored, state: await enter(transaction, target, version, now) };
      return { ...stored, state: await findState(transaction, targetId, version) };
    }),
  );
}

/** Lists versions with their states and the ids that pages go by, newest first. */
export async function listVersionRecords(db: Queries, targetId: string, range: PageRange) {
  const rows = await listVersions(db, targetId, range);
  const labels = rows.map(({ version }) => version);
  const states = await statesOf(db, targetId, labels);
  return rows.map((row) => ({ id: row.id, record: versionRecord(row, states.get(row.version)) }));
}

/** Newest first; pages by id, which sorts by creation. */
export const listVersions = (db: Queries, targetId: string, range: PageRange): Promise<Version[]> =>
  newestWhere(db, "releases", { target_id: targetId }, range).selectAll().execute();
