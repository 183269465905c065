import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type LocalReport, localReport } from "../../contract/surfaces/reports.ts";
import { readJsonFile } from "../../releases/json-file.ts";
import type { Layout, Target } from "../../releases/layout.ts";
import { writeFileAtomic } from "../../support/files.ts";
import type { Emit } from "../deployment/events.ts";
import type { Source } from "../sources/source.ts";

/** The oldest reports, one JSON text a line, gzip members one after the other: `zcat` reads it. */
export const ARCHIVE_FILE = "archive.ndjson.gz";

const isReport = (name: string): boolean => /^\d{8}T\d{9}Z-.*\.json$/.test(name);

/**
 * Writes the local report of one run at once or not at all (docs/contract/agent.md, rule 6). Names sort by time.
 *
 * @returns its path
 */
export async function writeReport(layout: Layout, target: Target, report: LocalReport): Promise<string> {
  const folder = layout.reports(target);
  await mkdir(folder, { recursive: true });
  const stamp = report.completed_at.replace(/[-:.]/g, "");
  const path = join(folder, `${stamp}-${report.deployment_id}.json`);
  await writeFileAtomic(path, `${JSON.stringify(report, null, 2)}\n`);
  return path;
}

/** The newest reports of a target, newest first; archived ones are not among them. @param limit how many at the most */
export async function readReports(layout: Layout, target: Target, limit: number): Promise<LocalReport[]> {
  const folder = layout.reports(target);
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const newest = names.filter(isReport).toSorted().toReversed().slice(0, limit);
  const reports = await Promise.all(newest.map((name) => readJsonFile(join(folder, name), localReport)));
  return reports.filter((report) => report !== undefined);
}

/**
 * Moves all but the newest `keep` reports of a target into its archive. The archive is replaced as a whole, so a crash loses nothing; at
 * worst a report stands in both places.
 */
export async function rotateReports(layout: Layout, target: Target, keep: number): Promise<void> {
  const folder = layout.reports(target);
  const names = (await readdir(folder)).filter(isReport).toSorted();
  const old = names.slice(0, Math.max(0, names.length - keep));
  if (old.length === 0) return;
  const archive = join(folder, ARCHIVE_FILE);
  const temporary = `${archive}.tmp`;
  const lines = async function* (): AsyncGenerator<string> {
    for (const name of old) yield `${JSON.stringify(JSON.parse(await readFile(join(folder, name), "utf8")))}\n`;
  };
  await rm(temporary, { force: true });
  const earlier = (await readdir(folder)).includes(ARCHIVE_FILE);
  if (earlier) await pipeline(createReadStream(archive), createWriteStream(temporary));
  await pipeline(Readable.from(lines()), createGzip(), createWriteStream(temporary, { flags: "a", flush: true }));
  await rename(temporary, archive);
  for (const name of old) await rm(join(folder, name), { force: true });
}

/** Milliseconds that the hub's report may take when the run itself was interrupted. */
const LATE_REPORT_LIMIT_MS = 10_000;

/**
 * The local report always, the hub's report if possible (docs/contract/agent.md, rules 6 and 7): neither changes how a run has ended.
 *
 * @param keep local reports that stay files
 * @returns the local report's path, or null when it could not be written
 */
export async function deliverReport(
  layout: Layout,
  source: Source,
  report: LocalReport,
  { keep, emit, signal }: { keep: number; emit: Emit; signal: AbortSignal },
): Promise<string | null> {
  let path: string | null = null;
  try {
    path = await writeReport(layout, source.target, report);
    emit({ event: "report.written", path });
    await rotateReports(layout, source.target, keep);
  } catch (error) {
    emit({ event: "warning", message: `The local report could not be written: ${(error as Error).message}.` });
  }
  try {
    await source.report(report, signal.aborted ? AbortSignal.timeout(LATE_REPORT_LIMIT_MS) : signal);
    emit({ event: "report.sent" });
  } catch (error) {
    emit({ event: "warning", message: `The hub's report could not be sent: ${(error as Error).message}` });
  }
  return path;
}
