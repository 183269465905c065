import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { TargetName } from "../../contract/target.ts";
import type { Layout } from "../../releases/layout.ts";
import { statsOf, syncFolder } from "../../support/files.ts";
import { reportNames, reportPath, unsentNames } from "./files.ts";

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
