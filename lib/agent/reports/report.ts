import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type LocalReport, localReport } from "../../contract/surfaces/reports.ts";
import type { TargetName } from "../../contract/target.ts";
import { makeDurableFolder, syncNames } from "../../releases/durability.ts";
import { readJsonFile } from "../../releases/json-file.ts";
import type { Layout } from "../../releases/layout.ts";
import { namesIn, statsOf, syncFolder, writeFileAtomic } from "../../support/files.ts";
import type { Reported } from "./draft.ts";

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

const REPORT = /^(\d{8}T\d{9}Z-.*)\.json$/;
/** An empty file of a report's name: the hub has yet to get it. */
const UNSENT = /^(\d{8}T\d{9}Z-[A-Za-z0-9-]+)$/;

/** A report's file name without its ending. Names sort by time. */
export const reportName = ({ completed_at: at, deployment_id: id }: LocalReport): string =>
  `${at.replace(/[-:.]/g, "")}-${id}`;

export const reportPath = (layout: Layout, target: TargetName, name: string): string =>
  join(layout.reports(target), `${name}.json`);

/** The names of a target's reports, oldest first. Archived ones are not among them. */
export const reportNames = (layout: Layout, target: TargetName): Promise<string[]> =>
  matching(layout.reports(target), REPORT);

/** The names of the reports that the hub has yet to get, oldest first. */
export const unsentNames = (layout: Layout, target: TargetName): Promise<string[]> =>
  matching(layout.outbox(target), UNSENT);

const markOf = (layout: Layout, target: TargetName, name: string): string => join(layout.outbox(target), name);

/** Marks a report as one that the hub has yet to get. */
export async function markUnsent(layout: Layout, target: TargetName, name: string): Promise<void> {
  const folder = layout.outbox(target);
  await makeDurableFolder(layout, folder);
  await writeFile(markOf(layout, target, name), "");
  await syncNames(layout, folder);
}

/** Takes the mark away: the hub has the report, or will never take it. */
export const markSent = (layout: Layout, target: TargetName, name: string): Promise<void> =>
  rm(markOf(layout, target, name), { force: true });

const matching = async (folder: string, pattern: RegExp): Promise<string[]> =>
  (await namesIn(folder)).flatMap((name) => pattern.exec(name)?.[1] ?? []).toSorted();

/** The oldest reports, one JSON text a line, gzip members one after the other: `zcat` reads it. */
export const ARCHIVE_FILE = "archive.ndjson.gz";

/**
 * Moves all but the newest `keep` reports of a target into its archive; those that the hub has yet to get stay. The
 * archive is replaced as a whole, so a crash loses nothing; at worst a report stands in both places. Only under the
 * lock of the target.
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
