import type * as z from "zod";
import type { Labels } from "../../contract/labels.ts";
import type { ProjectHost, ProjectReport } from "../../contract/surfaces/deploy.ts";
import type { ReportRecord } from "../../contract/surfaces/marketplace.ts";
import type { deploymentReport } from "../../contract/surfaces/reports.ts";
import type { RootMark } from "../../contract/trust/marks.ts";
import { recordId } from "../base/identity.ts";
import type { HostSignature, IncomingReport } from "./reports.ts";
import { subjectOf } from "./subjects.ts";

/** Host of a surface-B report that names none. */
const DEFAULT_HOST = "default";

/** Returns the host that a report of surface B is about. */
export const hostOfReport = ({ host_id: host = DEFAULT_HOST }: Pick<ProjectReport, "host_id">): string => host;

/** Circumstances of a report. */
export interface ReportContext {
  /** Milliseconds since 1970. */
  now: number;
  /** Host named in the request's header, if any. */
  named: string | undefined;
  /** Labels in the request's header, for a report without any. */
  labels?: Labels | undefined;
  /** Version of the trust root in the request's header; undefined for none. */
  root?: RootMark | undefined;
  /** Version of the agent that reports; undefined for another program. */
  agent?: string | undefined;
  /** Only host that the key speaks for; null for any. */
  keyHost: string | null;
  /** Kit by which the report came back, its digest, and who has signed it; undefined for one that its host sent. */
  byKit?: { kit: string; digest: string; madeAt: string; signedBy: HostSignature } | undefined;
}

/**
 * Returns the identity of a deployment in its view. Hosts choose the ids of their deployments, and two may choose the
 * same one: the identity names the host, too. A host without network is known by its key, which no rename changes.
 */
export const deploymentIdentity = (deploymentId: string, host: string, { byKit }: Pick<ReportContext, "byKit">) =>
  JSON.stringify(byKit === undefined ? { host, id: deploymentId } : { key: byKit.signedBy.key, id: deploymentId });

/** Stores reports in the database. */
interface Reports {
  store(report: IncomingReport): Promise<void>;
}

type AnyReport = z.output<typeof deploymentReport> | ProjectReport;

/**
 * Returns when a report counts as made, ISO 8601: its receipt. One that came back by a kit was made before, as its host
 * says; no host's clock makes it older than its kit, or newer than now.
 */
function madeAt({ completed_at: said }: AnyReport, { now, byKit }: ReportContext): string {
  const saidMs = Date.parse(said);
  if (byKit === undefined || Number.isNaN(saidMs)) return new Date(now).toISOString();
  return new Date(Math.min(now, Math.max(saidMs, Date.parse(byKit.madeAt)))).toISOString();
}

/** Returns the fields of a record that both surfaces have. */
const outcomeIn = (report: AnyReport, context: ReportContext) => ({
  error_message: report.error_message ?? null,
  code: report.code ?? undefined,
  started_at: report.started_at,
  completed_at: report.completed_at,
  created_at: madeAt(report, context),
  ...(context.byKit !== undefined && {
    by_kit: { kit: context.byKit.kit, back_at: new Date(context.now).toISOString() },
  }),
  running_version: report.running_version,
  running_signer: report.running_signer,
  health: report.health,
  applications: "applications" in report ? report.applications : undefined,
  ...((report.labels ?? context.labels) !== undefined && { labels: report.labels ?? context.labels }),
});

/** Returns the facts of a report about its host, whose new record is `hostRecord`. */
const ofHost = (
  hostRecord: ReportRecord | ProjectHost,
  { steps }: AnyReport,
  { now, named, root, agent, keyHost, byKit }: ReportContext,
) => ({
  hostId: hostRecord.host_id,
  version: hostRecord.version,
  status: hostRecord.status,
  hostRecord,
  isNamed: named === hostRecord.host_id,
  isBound: keyHost === hostRecord.host_id,
  signedBy: byKit?.signedBy,
  ...{ steps, root, agent, createdAt: new Date(now).toISOString() },
});

/**
 * Stores a report of surface A in the view of its deployer. @returns the record that the log and the fleet view show
 */
export async function storeTargetReport(
  reports: Reports,
  report: z.output<typeof deploymentReport>,
  deployerId: string,
  context: ReportContext,
): Promise<ReportRecord> {
  const record: ReportRecord = {
    id: recordId("dpl", context.now),
    deployer_id: deployerId,
    kind: report.kind,
    slug: report.slug,
    version: report.version,
    host_id: report.host_id,
    status: report.status,
    repo: report.repo,
    ...outcomeIn(report, context),
  };
  await reports.store({
    id: record.id,
    holder: deployerId,
    target: subjectOf(report),
    // Reports of this surface have no id of their own; one that comes by a kit may come twice.
    deployment: context.byKit?.digest ?? null,
    record: JSON.stringify({ ...record, log: report.log }),
    ...ofHost(record, report, context),
  });
  return record;
}

/**
 * Stores a report of surface B in its project's view. @returns the deployment's id, made here when the report has none
 */
export async function storeProjectReport(
  reports: Reports,
  report: ProjectReport,
  context: ReportContext,
): Promise<string> {
  const id = recordId("dpl", context.now);
  const deploymentId = report.deployment_id === "" ? id : report.deployment_id;
  const hostRecord: ProjectHost = {
    host_id: hostOfReport(report),
    deployment_id: deploymentId,
    version: report.version,
    status: report.rolled_back === true ? "rolled_back" : report.status,
    ...outcomeIn(report, context),
  };
  await reports.store({
    id,
    holder: "",
    target: report.project_id,
    deployment: deploymentIdentity(deploymentId, hostRecord.host_id, context),
    // Views of fleets leave out what only the log has.
    record: JSON.stringify({
      ...{ id, project_id: report.project_id, ...hostRecord, plugins: report.plugins, log: report.log },
    }),
    ...ofHost(hostRecord, report, context),
  });
  return deploymentId;
}
