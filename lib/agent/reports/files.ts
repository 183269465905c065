import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import type { TargetName } from "../../contract/target.ts";
import { makeDurableFolder, syncNames } from "../../releases/durability.ts";
import type { Layout } from "../../releases/layout.ts";
import { missing } from "../../support/files.ts";

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
  namesIn(layout.reports(target), REPORT);

/** The names of the reports that the hub has yet to get, oldest first. */
export const unsentNames = (layout: Layout, target: TargetName): Promise<string[]> =>
  namesIn(layout.outbox(target), UNSENT);

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

async function namesIn(folder: string, pattern: RegExp): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown): string[] => {
    if (missing(error)) return [];
    throw error;
  });
  return names
    .map((name) => pattern.exec(name)?.[1])
    .filter((name) => name !== undefined)
    .toSorted();
}
