import type { TargetChanges, VersionRecord } from "../../contract/surfaces/marketplace.ts";
import { changeTarget } from "./latest/change-target.ts";
import { inTransaction, type PageRange, type Queries } from "./port.ts";
import { updateWhere } from "./rows.ts";
import { versionRecord } from "./target-detail.ts";
import { newestVersions } from "./versions.ts";

/** Changes what an owner says about a target; fields left out of `changes` stay. @param now milliseconds since 1970 */
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

/** Lists versions with the ids that pages go by, newest first. */
export async function listVersionRecords(
  db: Queries,
  targetId: string,
  range: PageRange,
): Promise<{ id: string; record: VersionRecord }[]> {
  const rows = await newestVersions(db, targetId, range, undefined).execute();
  return rows.map((row) => ({ id: row.id, record: versionRecord(row) }));
}
