import { counted } from "../../support/counted.ts";
import { BY_HAND, insertAudit } from "../records/audit.ts";
import { removeVersions } from "../records/managed-versions.ts";
import { type Database, inTransaction } from "../records/port.ts";
import { allProjects, lockProject, type Project, projectIdCalled } from "../records/projects.ts";
import { removeReports, type ReportRules } from "../records/report-history.ts";
import { neededVersions, type StoredVersion, storedVersions } from "../records/retention.ts";
import { subjectOf } from "../records/subjects.ts";
import { type HubStorage, openHubStorage } from "../storage/open.ts";

/** Versions deleted per transaction, for which a publishing hub has to wait. */
const BATCH = 100;

export interface RetentionRules {
  /** Newest versions kept per project. */
  keep: number;
  /** Age below which versions are kept, in milliseconds: hosts may be about to deploy them. */
  minAgeMs: number;
}

/** Facts on which retention decides about one project. */
export interface RetentionFacts {
  /** Versions, newest first. */
  versions: readonly StoredVersion[];
  latest: string | null;
  /** Versions that a host runs or may go back to, and the one being rolled out. */
  needed: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  now: number;
}

/** Chooses the versions to remove. Pure. */
export function versionsToRemove(
  { versions, latest, needed, now }: RetentionFacts,
  { keep, minAgeMs }: RetentionRules,
): StoredVersion[] {
  return versions
    .slice(keep)
    .filter(
      ({ version, createdAt }) => version !== latest && !needed.has(version) && Date.parse(createdAt) <= now - minAgeMs,
    );
}

/** Limits of the deployment reports kept per host. */
export interface ReportLimits {
  /** Newest reports kept: as many of successful deployments, and as many of others. Default 200. */
  reportsPerHost: number;
  /** Milliseconds for which reports are kept. Default 180 days. */
  keepReportsMs: number;
  /** Milliseconds for which reports of failed deployments are kept. Default a year. */
  keepFailuresMs: number;
}

/** Returns the rules by which reports are kept. @param now milliseconds since 1970 */
export const reportRules = (
  { reportsPerHost, keepReportsMs, keepFailuresMs }: ReportLimits,
  now: number,
): ReportRules => ({
  perHost: reportsPerHost,
  since: new Date(now - keepReportsMs).toISOString(),
  failuresSince: new Date(now - keepFailuresMs).toISOString(),
});

export interface RetentionOptions extends RetentionRules {
  /** Deployment reports to keep per host; undefined leaves them to the hub. */
  reportLimits?: ReportLimits;
  /** Id, slug or name of one project, plugin or service. Default: all. */
  project: string | undefined;
  /** Reports what would be removed, and removes nothing. */
  dryRun: boolean;
  onRemoved: (project: Project, version: StoredVersion) => void;
}

export interface RetentionResult {
  projects: number;
  /** Versions that were removed, or would be. */
  versions: number;
  bytes: number;
  /** Reports that were removed, or would be. */
  reports: number;
  report_bytes: number;
}

/**
 * Removes old versions that nobody needs, while the hub runs. Their bytes go to the trash.
 *
 * @throws UsageError `usage` when there is no hub, or no such project
 */
export async function retainVersions(storage: HubStorage, options: RetentionOptions): Promise<RetentionResult> {
  await using opened = await openHubStorage(storage);
  const { database, blobs } = opened;
  const result: RetentionResult = { projects: 0, versions: 0, bytes: 0, reports: 0, report_bytes: 0 };
  const { project: text } = options;
  const only = text === undefined ? undefined : await projectIdCalled(database.kysely, text);
  for await (const project of allProjects(database.kysely, only)) {
    result.projects++;
    for (let isDone = false; !isDone;) {
      const { removed, unneeded } = await retainProject(database, project, options);
      for (const version of removed) {
        options.onRemoved(project, version);
        result.versions++;
        result.bytes += version.bytes;
      }
      // If this fails, the next sweep removes blobs without a record.
      for (const blob of unneeded) await blobs.moveToTrash(blob);
      isDone = options.dryRun || removed.length < BATCH;
    }
  }
  // Afterwards: reports tell which versions hosts need.
  if (options.reportLimits !== undefined) {
    const now = (await database.now?.()) ?? Date.now();
    const { reports, bytes } = await removeReports(
      database.kysely,
      reportRules(options.reportLimits, now),
      options.dryRun,
    );
    Object.assign(result, { reports, report_bytes: bytes });
  }
  return result;
}

/** Removes some versions of a project in a transaction that holds its row. */
function retainProject(
  database: Database,
  project: Project,
  { keep, minAgeMs, dryRun }: RetentionOptions,
): Promise<{ removed: StoredVersion[]; unneeded: string[] }> {
  return inTransaction(database.kysely, async (transaction) => {
    const now = (await database.now?.()) ?? Date.now();
    const { latest_version: latest } = await lockProject(transaction, project.id);
    const needed = await neededVersions(transaction, database.dialect, project);
    const versions = await storedVersions(transaction, project);
    for (const { version, isRolling } of versions) if (isRolling) needed.add(version);
    const due = versionsToRemove({ versions, latest, needed, now }, { keep, minAgeMs });
    if (dryRun || due.length === 0) return { removed: due, unneeded: [] };
    const removed = due.slice(0, BATCH);
    const reason = `retention keeps ${counted(keep, "version")}`;
    const labels = removed.map(({ version }) => version);
    const unneeded = await removeVersions(transaction, project, labels, { reason, now: new Date(now).toISOString() });
    const subject = subjectOf(project);
    for (const version of labels)
      await insertAudit(
        transaction,
        { action: "version.delete", subject, ...BY_HAND, facts: { version, reason } },
        now,
      );
    return { removed, unneeded };
  });
}
