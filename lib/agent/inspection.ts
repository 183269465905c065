import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { LocalReport } from "../contract/surfaces/reports.ts";
import type { Layout, Target } from "../releases/layout.ts";
import { type QuarantineEntry, readQuarantine } from "../releases/quarantine.ts";
import { currentName, listReleases, type Release } from "../releases/release.ts";
import { missing } from "../support/files.ts";
import { unsentNames } from "./reports/files.ts";
import { readReports } from "./reports/report.ts";
import { type Pin, readPin } from "./watch/pin.ts";
import { WatchMemory } from "./watch/state.ts";

/** A kept release, and what it takes of the disk. */
export interface KeptRelease extends Release {
  running: boolean;
  bytes: number;
}

/** A target of this host as it stands. Reading it changes nothing and asks nobody. */
export interface TargetStatus {
  target: Target;
  /** Newest first. */
  releases: KeptRelease[];
  quarantine: QuarantineEntry[];
  paused: boolean;
  pin: Pin | null;
  /** The last answer of the hub that a watch remembers. */
  latest: string | null;
  lastReport: LocalReport | undefined;
  /** Reports that the hub has yet to get. */
  unsentReports: number;
}

export async function inspectTarget(layout: Layout, target: Target): Promise<TargetStatus> {
  const [releases, quarantine, pin, watch, [lastReport], unsent] = await Promise.all([
    keptReleases(layout, target),
    readQuarantine(layout, target),
    readPin(layout, target),
    new WatchMemory(layout, target).read(),
    readReports(layout, target, 1),
    unsentNames(layout, target),
  ]);
  const { paused, latest } = watch;
  return {
    ...{ target, releases, quarantine, paused, pin, lastReport },
    latest: latest?.version ?? null,
    unsentReports: unsent.length,
  };
}

/** The whole releases of a target with their sizes, newest first. */
export async function keptReleases(layout: Layout, target: Target): Promise<KeptRelease[]> {
  const current = await currentName(layout, target);
  const kept: KeptRelease[] = [];
  for (const release of await listReleases(layout, target)) {
    const bytes = await bytesBelow(layout.release(target, release.name));
    kept.push({ ...release, running: release.name === current, bytes });
  }
  return kept;
}

/** Bytes of all files below a folder. Links are not followed; what vanishes meanwhile counts nothing. */
async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) bytes += await bytesBelow(path);
      else if (entry.isFile()) bytes += (await lstat(path)).size;
    }
  } catch (error) {
    if (!missing(error)) throw error;
  }
  return bytes;
}
