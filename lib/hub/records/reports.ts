import type { Kysely } from "kysely";
import type { Schema } from "./schema.ts";

/** A deployment report on its way into the log and the fleet view. */
export interface IncomingReport {
  id: string;
  /** On surface A the owner of the reporting key; on surface B empty: the project is the view. */
  holder: string;
  target: string;
  hostId: string;
  version: string;
  status: "success" | "failed" | "rolled_back";
  deploymentId: string | null;
  /** As the log keeps it. */
  record: object;
  /** As the fleet view shows it. */
  hostRecord: object;
  createdAt: string;
}

/** How the log and the views name a target of surface A; surface B's is the project's id, which has no slash. */
export const targetName = (kind: "plugin" | "service", slug: string) => `${kind}/${slug}`;

/**
 * Appends a report to the log and makes it its host's newest record, in one transaction. The view's counter is incremented under
 * its row lock, so that the change numbers of one view become visible in their order and no reader's cursor passes over one.
 *
 * @returns false when the log has a report of this deployment already: nothing changed
 */
export function storeReport(db: Kysely<Schema>, report: IncomingReport): Promise<boolean> {
  const { holder, target } = report;
  return db.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto("reports")
      .values({
        id: report.id,
        holder,
        target,
        host_id: report.hostId,
        version: report.version,
        status: report.status,
        deployment_id: report.deploymentId,
        record: JSON.stringify(report.record),
        created_at: report.createdAt,
      })
      .onConflict((conflict) => conflict.columns(["holder", "target", "deployment_id"]).doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows === 0n) return false;

    const { changes } = await transaction
      .insertInto("views")
      .values({ holder, target, changes: 1 })
      .onConflict((conflict) =>
        conflict.columns(["holder", "target"]).doUpdateSet((eb) => ({ changes: eb("views.changes", "+", 1) })),
      )
      .returning("changes")
      .executeTakeFirstOrThrow();

    const newest = { change: changes, report_id: report.id, record: JSON.stringify(report.hostRecord) };
    await transaction
      .insertInto("hosts")
      .values({ holder, target, host_id: report.hostId, ...newest })
      .onConflict((conflict) => conflict.columns(["holder", "target", "host_id"]).doUpdateSet(newest))
      .execute();
    return true;
  });
}
