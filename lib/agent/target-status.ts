import type { LocalReport } from "../contract/surfaces/reports.ts";
import type { TargetName } from "../contract/target.ts";
import { type FetchedAhead, readAhead } from "../releases/ahead.ts";
import { readDeployed, type Settings } from "../releases/deployed.ts";
import { type DiskUse, diskUse, filesBelow } from "../releases/disk-use.ts";
import { readStanding, type Sick, sickOf } from "../releases/health.ts";
import { type Held, stillHeld } from "../releases/holds.ts";
import type { Layout } from "../releases/layout.ts";
import { readPartial, type ShownPartial } from "../releases/partial.ts";
import { type QuarantineEntry, readQuarantine } from "../releases/quarantine.ts";
import { currentName, listReleases, type Release, unreadableReleases } from "../releases/release.ts";
import { readLastDeployment, unsentNames } from "./reports/report.ts";
import { type RootStanding, rootStanding } from "./root-standing.ts";
import { type Pin, readPin, WatchMemory, type WatchState } from "./watch/state.ts";

/** Kept release, with the bytes of its files as if it shared none. */
export interface KeptRelease extends Release {
  running: boolean;
  bytes: number;
}

/** Release whose record this version of Sealift cannot read. */
export interface UnreadableRelease {
  name: string;
  running: boolean;
}

/** State of a target of this host, read without any change or request. */
export interface TargetStatus {
  target: TargetName;
  /** Time when the running release was switched to. */
  runningSince: string | null;
  /** Options of the last deployment, which a rollback takes over. */
  settings: Settings;
  /** Releases, newest first. */
  releases: KeptRelease[];
  /** Releases whose record is damaged, or of a newer version of Sealift. */
  unreadable: UnreadableRelease[];
  /** Disk use of all kept releases. */
  disk: DiskUse;
  quarantine: QuarantineEntry[];
  paused: boolean;
  pin: Pin | null;
  /** Version that waits for a person's consent to its rights. */
  heldRights: Held<"rights"> | null;
  /** Last state that a running watch recorded, and since when. */
  watch: WatchState["state"];
  /** Last answer of the hub that a watch remembers. */
  latest: string | null;
  /** Version fetched before its window opens, and when that is, if the hub stated it. */
  ahead: (Pick<FetchedAhead, "version" | "bytes" | "at"> & { notBefore: string | null }) | null;
  /** Bytes that an interrupted download has left for the next run. */
  partial: ShownPartial | null;
  lastReport: LocalReport | undefined;
  /** Since when what runs is unhealthy, and why. */
  unhealthy: Sick | null;
  /** Trust root that it follows; undefined for none, and for one that cannot be read. */
  root: RootStanding | undefined;
  /** Reports that the hub does not have yet. */
  unsentReports: number;
}

export async function inspectTarget(layout: Layout, target: TargetName): Promise<TargetStatus> {
  const [deployed, releases, quarantine, pin, watch, ahead, lastReport, unsent, standing, root] = await Promise.all([
    readDeployed(layout, target),
    keptReleases(layout, target),
    readQuarantine(layout, target),
    readPin(layout, target),
    new WatchMemory({ layout }, target).read(),
    readAhead(layout, target),
    readLastDeployment(layout, target),
    unsentNames(layout, target),
    readStanding(layout, target),
    rootStanding(layout, target).catch(() => undefined),
  ]);
  const partial = (await readPartial(layout, target)) ?? null;
  const current = await currentName(layout, target);
  const unreadable = (await unreadableReleases(layout, target)).map((name) => ({ name, running: name === current }));
  const { paused, latest, state } = watch;
  const running = releases.find((release) => release.running);
  const switched = deployed?.ran.findLast(({ release }) => release === running?.name);
  const heldRights = (await stillHeld(layout, target, "rights")) ?? null;
  const disk = await diskUse(releases.map(({ name }) => layout.release(target, name)));
  return {
    ...{ target, releases, unreadable, disk, quarantine, paused, pin, heldRights, lastReport, root, partial },
    runningSince: switched?.at ?? running?.created_at ?? null,
    settings: deployed?.settings ?? {},
    latest: latest?.version ?? null,
    watch: state,
    ahead: ahead === undefined ? null : { ...ahead, notBefore: opensAt(latest, ahead.version) },
    unhealthy: sickOf(standing) ?? null,
    unsentReports: unsent.length,
  };
}

/** Returns when a version may be switched to, as a watch remembers the hub's answer. */
const opensAt = (latest: WatchState["latest"], version: string): string | null =>
  (latest?.next === version ? latest.nextAt : null) ?? null;

/** Returns the complete releases of a target with their sizes, newest first. */
export async function keptReleases(layout: Layout, target: TargetName): Promise<KeptRelease[]> {
  const current = await currentName(layout, target);
  const kept: KeptRelease[] = [];
  for (const release of await listReleases(layout, target)) {
    let bytes = 0;
    for await (const { size } of filesBelow(layout.release(target, release.name))) bytes += size;
    kept.push({ ...release, running: release.name === current, bytes });
  }
  return kept;
}
