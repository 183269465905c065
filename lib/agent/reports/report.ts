import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type LocalReport, localReport } from "../../contract/surfaces/reports.ts";
import type { TargetName } from "../../contract/target.ts";
import { makeDurableFolder, syncNames } from "../../releases/durability.ts";
import { healthIn, readStanding } from "../../releases/health.ts";
import { readJsonFile } from "../../releases/json-file.ts";
import type { Layout } from "../../releases/layout.ts";
import { currentRelease } from "../../releases/release.ts";
import { restingUnits } from "../../releases/stopped.ts";
import { readRootMark } from "../../releases/trust-roots.ts";
import { namesIn, statsOf, syncFolder, writeFileAtomic } from "../../support/files.ts";
import type { Reported } from "./draft.ts";

/**
 * Writes the local report of one run atomically (docs/contract/agent.md, rule 6), marked as unsent. It says how healthy
 * the running release is, too, where that was asked, and which trust root is followed.
 *
 * @returns its path
 */
export async function writeReport(layout: Layout, target: TargetName, of: LocalReport): Promise<string> {
  const health = of.health ?? (await healthOf(layout, target, of));
  const root = await readRootMark(layout, target);
  const report = { ...of, ...(health !== undefined && { health }), ...(root !== undefined && { trust_root: root }) };
  const name = reportName(report);
  const path = reportPath(layout, target, name);
  await makeDurableFolder(layout, layout.reports(target));
  // The mark comes first: a mark without a report is harmless, a report without a mark would never be sent.
  await markUnsent(layout, target, name);
  // Other applications may not read what one has written.
  await writeFileAtomic(path, `${JSON.stringify(report, null, 2)}\n`, report.log === undefined ? {} : { mode: 0o600 });
  return path;
}

/** Returns the health of what runs, as far as that was asked, and what an operator has stopped of it. */
async function healthOf(layout: Layout, target: TargetName, { completed_at: at }: LocalReport) {
  const health = healthIn(await readStanding(layout, target));
  const stopped = await restingUnits(layout, (await currentRelease(layout, target))?.items ?? []);
  return stopped.length === 0 ? health : { ...(health ?? { state: "healthy" as const, since: at }), stopped };
}

/** True when the report of a deployment is written, whichever run wrote it. Archived ones are not looked at. */
export const hasReport = async (layout: Layout, target: TargetName, deploymentId: string): Promise<boolean> =>
  (await reportNames(layout, target)).some((name) => name.endsWith(`-${deploymentId}`));

/** Reads the newest reports of a target, newest first, without archived ones. @param limit most reports */
export async function readReports(layout: Layout, target: TargetName, limit: number): Promise<LocalReport[]> {
  const newest = (await reportNames(layout, target)).toReversed().slice(0, limit);
  const reports = await Promise.all(newest.map((name) => readJsonFile(reportPath(layout, target, name), localReport)));
  return reports.filter((report) => report !== undefined);
}

/** Reads the report of a target's last deployment: the newest ones may be about its health. */
export const readLastDeployment = async (layout: Layout, target: TargetName): Promise<LocalReport | undefined> =>
  (await readReports(layout, target, REPORTS_AT_END)).find(({ about }) => about === undefined);

/** Removes a report of a target, and its mark. */
export async function removeReport(layout: Layout, target: TargetName, name: string): Promise<void> {
  await markSent(layout, target, name);
  await rm(reportPath(layout, target, name), { force: true });
}

/**
 * Writes the local report of a run. A failure is a warning and does not change how the run ended
 * (docs/contract/agent.md, rules 6 and 7). Old reports move to the archive, under the target's lock.
 *
 * @param locked whether the run holds the target's lock
 * @returns the report's path, or null when it could not be written
 */
export async function recordReport(run: Reported, report: LocalReport, locked: boolean): Promise<string | null> {
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

/** Newest reports among which a deployment is: of the health of each release only the last report is kept. */
const REPORTS_AT_END = 3;

const REPORT = /^(\d{8}T\d{9}Z-.*)\.json$/;
/** Matches the empty file that marks the report of its name as unsent. */
const UNSENT = /^(\d{8}T\d{9}Z-[A-Za-z0-9-]+)$/;

/** Returns a report's file name without its extension. Names sort by time. */
export const reportName = ({ completed_at: at, deployment_id: id }: LocalReport): string =>
  `${at.replace(/[-:.]/g, "")}-${id}`;

export const reportPath = (layout: Layout, target: TargetName, name: string): string =>
  join(layout.reports(target), `${name}.json`);

/** Lists the names of a target's reports, oldest first, without archived ones. */
export const reportNames = (layout: Layout, target: TargetName): Promise<string[]> =>
  matching(layout.reports(target), REPORT);

/** Lists the names of unsent reports, oldest first. */
export const unsentNames = (layout: Layout, target: TargetName): Promise<string[]> =>
  matching(layout.outbox(target), UNSENT);

const markOf = (layout: Layout, target: TargetName, name: string): string => join(layout.outbox(target), name);

/** Marks a report as unsent. */
export async function markUnsent(layout: Layout, target: TargetName, name: string): Promise<void> {
  const folder = layout.outbox(target);
  await makeDurableFolder(layout, folder);
  await writeFile(markOf(layout, target, name), "");
  await syncNames(layout, folder);
}

/** Milliseconds after which a report that has a mark and no file is taken for one that was cut short. */
const CUT_SHORT_MS = 60_000;

/** Tells whether the writer of a mark ended before its report was there. Until then another process may be at it. */
export async function wasCutShort(layout: Layout, target: TargetName, name: string): Promise<boolean> {
  const stats = await statsOf(markOf(layout, target, name));
  return stats !== undefined && Math.abs(Date.now() - stats.mtimeMs) > CUT_SHORT_MS;
}

/** Removes the mark of a report that the hub has, or will never accept. */
export const markSent = (layout: Layout, target: TargetName, name: string): Promise<void> =>
  rm(markOf(layout, target, name), { force: true });

const matching = async (folder: string, pattern: RegExp): Promise<string[]> =>
  (await namesIn(folder)).flatMap((name) => pattern.exec(name)?.[1] ?? []).toSorted();

/** Archive of the oldest reports: one JSON text per line in consecutive gzip members, which `zcat` reads. */
export const ARCHIVE_FILE = "archive.ndjson.gz";

/**
 * Moves all but the newest `keep` reports of a target into its archive, except unsent ones. Replaces the archive as a
 * whole, so that a crash loses nothing; at worst a report is in both places. Requires the target's lock.
 */
export async function rotateReports(layout: Layout, target: TargetName, keep: number): Promise<void> {
  const names = await reportNames(layout, target);
  const unsent = new Set(await unsentNames(layout, target));
  const old = names.slice(0, Math.max(0, names.length - keep)).filter((name) => !unsent.has(name));
  if (old.length === 0) return;
  const folder = layout.reports(target);
  const archive = join(folder, ARCHIVE_FILE);
  const temporary = `${archive}.tmp`;
  const lines = async function* (): AsyncGenerator<string> {
    for (const name of old)
      yield `${JSON.stringify(JSON.parse(await readFile(reportPath(layout, target, name), "utf8")))}\n`;
  };
  await rm(temporary, { force: true });
  const earlier = (await statsOf(archive)) !== undefined;
  if (earlier) await pipeline(createReadStream(archive), createWriteStream(temporary));
  await pipeline(Readable.from(lines()), createGzip(), createWriteStream(temporary, { flags: "a", flush: true }));
  await rename(temporary, archive);
  await syncFolder(folder);
  for (const name of old) await rm(reportPath(layout, target, name), { force: true });
}
