import { type LocalReport, localReport } from "../../contract/surfaces/reports.ts";
import type { TargetName } from "../../contract/target.ts";
import { makeDurableFolder } from "../../releases/durability.ts";
import { readJsonFile } from "../../releases/json-file.ts";
import type { Layout } from "../../releases/layout.ts";
import { writeFileAtomic } from "../../support/files.ts";
import type { Deployed, Run } from "../deployment/run.ts";
import { rotateReports } from "./archive.ts";
import { markUnsent, reportName, reportNames, reportPath } from "./files.ts";

/**
 * Writes the local report of one run at once or not at all (docs/contract/agent.md, rule 6), marked as one that the hub
 * has yet to get.
 *
 * @returns its path
 */
export async function writeReport(layout: Layout, target: TargetName, report: LocalReport): Promise<string> {
  const name = reportName(report);
  const path = reportPath(layout, target, name);
  await makeDurableFolder(layout, layout.reports(target));
  // The mark comes first: one without a report is harmless, a report without one would never be sent.
  await markUnsent(layout, target, name);
  await writeFileAtomic(path, `${JSON.stringify(report, null, 2)}\n`);
  return path;
}

/** True when the report of a deployment is written, whichever run wrote it. Archived ones are not looked at. */
export const hasReport = async (layout: Layout, target: TargetName, deploymentId: string): Promise<boolean> =>
  (await reportNames(layout, target)).some((name) => name.endsWith(`-${deploymentId}`));

/** The newest reports of a target, newest first; archived ones are not among them. @param limit how many at the most */
export async function readReports(layout: Layout, target: TargetName, limit: number): Promise<LocalReport[]> {
  const newest = (await reportNames(layout, target)).toReversed().slice(0, limit);
  const reports = await Promise.all(newest.map((name) => readJsonFile(reportPath(layout, target, name), localReport)));
  return reports.filter((report) => report !== undefined);
}

/**
 * Writes the local report of a run; a failure is a warning and changes nothing about how the run ended
 * (docs/contract/agent.md, rules 6 and 7). Old reports move to the archive, under the lock of the target.
 *
 * @param locked whether the run holds the lock of its target
 * @returns the report's path, or null when it could not be written
 */
export async function recordReport(run: Run<Deployed>, report: LocalReport, locked: boolean): Promise<string | null> {
  const { layout, source, options, emit } = run;
  try {
    const path = layout.shown(await writeReport(layout, source.target, report));
    emit({ event: "report.written", path });
    if (locked) await rotateReports(layout, source.target, options.keepReports);
    return path;
  } catch (error) {
    emit({ event: "warning", message: `The local report could not be written: ${(error as Error).message}.` });
    return null;
  }
}
