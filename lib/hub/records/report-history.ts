import type { Queries } from "./port.ts";

/** Rows that one statement removes: short enough that nobody waits for it. */
const REMOVAL_BATCH = 1000;

export interface ReportFilters {
  hostId: string | undefined;
  status: "success" | "failed" | "rolled_back" | undefined;
  version: string | undefined;
  /** ISO 8601 in UTC; received then or later. */
  from: string | undefined;
  /** ISO 8601 in UTC; received before. */
  to: string | undefined;
}

/** One view's reports, newest first; pages by id, which sorts by the time of receipt. */
export function listReports(
  db: Queries,
  { holder, target }: { holder: string; target: string },
  { hostId, status, version, from, to }: ReportFilters,
  { before, limit }: { before: string; limit: number },
): Promise<{ id: string; record: string }[]> {
  let query = db
    .selectFrom("reports")
    .select(["id", "record"])
    .where("holder", "=", holder)
    .where("target", "=", target);
  if (before !== "") query = query.where("id", "<", before);
  if (hostId !== undefined) query = query.where("host_id", "=", hostId);
  if (status !== undefined) query = query.where("status", "=", status);
  if (version !== undefined) query = query.where("version", "=", version);
  if (from !== undefined) query = query.where("created_at", ">=", from);
  if (to !== undefined) query = query.where("created_at", "<", to);
  return query.orderBy("id", "desc").limit(limit).execute();
}

/**
 * Removes reports received before a time, in batches, and never the newest one of a host.
 *
 * @returns how many were removed
 */
export async function removeReports(db: Queries, before: string): Promise<number> {
  let removed = 0;
  for (;;) {
    const { numDeletedRows } = await db
      .deleteFrom("reports")
      .where("id", "in", (eb) =>
        eb
          .selectFrom("reports as old")
          .select("old.id")
          .where("old.created_at", "<", before)
          .where((where) =>
            where.not(
              where.exists(
                where.selectFrom("hosts").select("hosts.report_id").whereRef("hosts.report_id", "=", "old.id"),
              ),
            ),
          )
          .limit(REMOVAL_BATCH),
      )
      .executeTakeFirst();
    removed += Number(numDeletedRows);
    if (numDeletedRows < BigInt(REMOVAL_BATCH)) return removed;
  }
}
