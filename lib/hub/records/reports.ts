import type * as z from "zod";
import type { ProjectHost, ProjectReport } from "../../contract/surfaces/deploy.ts";
import { runningVersion } from "../../contract/surfaces/host-record.ts";
import type { ReportRecord } from "../../contract/surfaces/marketplace.ts";
import type { deploymentReport } from "../../contract/surfaces/reports.ts";
import { recordId } from "../access/credentials.ts";
import type { Queries } from "./port.ts";

/** The host of a report of surface B that names none. */
const DEFAULT_HOST = "default";

/** A deployment report on its way into the log and the fleet view. */
interface IncomingReport {
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
  hostRecord: ReportRecord | ProjectHost;
  createdAt: string;
}

/**
 * Returns the name of a target in the log and the views, of surface A; surface B's is the project's id, which has no
 * slash.
 */
export const loggedTarget = (kind: "plugin" | "service", slug: string) => `${kind}/${slug}`;

/**
 * Appends a report to the log and makes it its host's newest record, in one transaction. The view's counter is
 * incremented under its row lock, so that the change numbers of one view become visible in their order and no reader's
 * cursor passes over one.
 *
 * @returns false when the log has a report of this deployment already: nothing changed
 */
function storeReport(db: Queries, report: IncomingReport): Promise<boolean> {
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

    // Under the view's row lock: no other report of this host comes in between.
    const hostRecord = { ...report.hostRecord, running_version: await runningAfter(transaction, report) };
    const newest = { change: changes, report_id: report.id, record: JSON.stringify(hostRecord) };
    await transaction
      .insertInto("hosts")
      .values({ holder, target, host_id: report.hostId, ...newest })
      .onConflict((conflict) => conflict.columns(["holder", "target", "host_id"]).doUpdateSet(newest))
      .execute();
    return true;
  });
}

/**
 * The version that a host runs after a report. One that failed and does not tell has changed nothing about it, as far
 * as anybody knows.
 */
async function runningAfter(
  db: Queries,
  { holder, target, hostId, hostRecord }: IncomingReport,
): Promise<string | null | undefined> {
  const told = runningVersion(hostRecord);
  if (told !== undefined) return told;
  const earlier = await db
    .selectFrom("hosts")
    .select("record")
    .where("holder", "=", holder)
    .where("target", "=", target)
    .where("host_id", "=", hostId)
    .executeTakeFirst();
  return earlier && runningVersion(JSON.parse(earlier.record) as ReportRecord | ProjectHost);
}

/**
 * Stores a report of surface A in the view of its deployer. @returns the record that the log and the fleet view show
 */
export async function storeTargetReport(
  db: Queries,
  report: z.output<typeof deploymentReport>,
  deployerId: string,
  now: number,
): Promise<ReportRecord> {
  const record: ReportRecord = {
    id: recordId("dpl", now),
    deployer_id: deployerId,
    kind: report.kind,
    slug: report.slug,
    version: report.version,
    host_id: report.host_id,
    status: report.status,
    repo: report.repo,
    error_message: report.error_message,
    started_at: report.started_at,
    completed_at: report.completed_at,
    created_at: new Date(now).toISOString(),
    running_version: report.running_version,
  };
  await storeReport(db, {
    id: record.id,
    holder: deployerId,
    target: loggedTarget(report.kind, report.slug),
    hostId: report.host_id,
    version: report.version,
    status: report.status,
    deploymentId: null,
    record,
    hostRecord: record,
    createdAt: record.created_at,
  });
  return record;
}

/**
 * Stores a report of surface B in its project's view. @returns the deployment's id, made here when the report has none
 */
export async function storeProjectReport(db: Queries, report: ProjectReport, now: number): Promise<string> {
  const id = recordId("dpl", now);
  const deploymentId = report.deployment_id === "" ? id : report.deployment_id;
  const hostRecord: ProjectHost = {
    host_id: report.host_id ?? DEFAULT_HOST,
    deployment_id: deploymentId,
    version: report.version,
    status: report.rolled_back === true ? "rolled_back" : report.status,
    error_message: report.error_message ?? null,
    started_at: report.started_at,
    completed_at: report.completed_at,
    created_at: new Date(now).toISOString(),
    running_version: report.running_version,
  };
  await storeReport(db, {
    id,
    holder: "",
    target: report.project_id,
    hostId: hostRecord.host_id,
    version: report.version,
    status: hostRecord.status,
    deploymentId,
    record: { id, project_id: report.project_id, ...hostRecord, plugins: report.plugins },
    hostRecord,
    createdAt: hostRecord.created_at,
  });
  return deploymentId;
}
