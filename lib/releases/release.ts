import { randomBytes } from "node:crypto";
import { readFile, readlink, realpath, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import * as z from "zod";
import { deploymentError } from "../contract/errors.ts";
import { APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import { installStep, unitOf } from "../contract/files/install-plan.ts";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import { ifThere, namesIn, statsOf } from "../support/files.ts";
import { syncNames } from "./durability.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import { isApplication, type Item, type Layout } from "./layout.ts";
import { application, item } from "./names.ts";
import { removeTree } from "./open-folder.ts";

/** `release.json` as it is on the disk. */
const storedRecord = later(() =>
  z.object({
    version: z.string(),
    /** Identity that distinguishes artifacts of one version: a signature or a digest. Null for an adopted folder. */
    identity: z.string().nullable(),
    items: z.array(item),
    /** Applications, apart from `items`: a Sealift that does not know them would take the whole record as missing. */
    applications: z.array(application).optional(),
    /** Steps of the plan around the switch, which a rollback repeats. Omitted for adopted folders. */
    steps: z.object({ stop: z.array(installStep), after: z.array(installStep) }).optional(),
    content_sha256: z.string().nullable(),
    /**
     * Trusted Ed25519 key that has signed it, hexadecimal; null where no signature was required. Missing in older
     * records.
     */
    signer: z.string().nullish(),
    /** `<section>/<id>` → its folder in the source tree. Projects only. */
    source_folders: z.record(z.string(), z.string()).optional(),
    created_at: z.string(),
    /** Plugin id → SHA-256 of its `plugin.yaml` as it was installed. Omitted for adopted folders. */
    descriptors: z.record(z.string(), z.string()).optional(),
    /** Files in the list of its contents; omitted for adopted folders, which have no list. */
    files: z.int().nonnegative().optional(),
  }),
);

/** `release.json` inside a release: its last file, so a release without it was never finished. */
export const releaseRecord = later(() =>
  storedRecord.transform(({ applications = [], items, ...record }) => ({
    ...record,
    items: [...items, ...applications.map((found): Item => ({ section: APPLICATIONS_FOLDER, ...found }))],
  })),
);
export type ReleaseRecord = z.output<typeof releaseRecord>;

export interface Release extends ReleaseRecord {
  name: string;
}

/** Version of a release made from folders installed by hand. */
export const ADOPTED = "adopted";

/** True for a release of folders that were installed by hand. */
export const isAdopted = ({ version, identity }: Pick<Release, "version" | "identity">): boolean =>
  version === ADOPTED && identity === null;

/** Returns every unit that a release's plan starts, stops, restarts or checks; null is the project's own. */
export const namedUnits = ({ steps }: Pick<Release, "steps">): Set<string | null> =>
  new Set([...(steps?.stop ?? []), ...(steps?.after ?? [])].map(unitOf).filter((unit) => unit !== undefined));

const recordFile = (layout: Layout, target: TargetName, name: string): string =>
  join(layout.release(target, name), "release.json");

/** Makes a folder name for a release: recognizable, unique, and safe whatever the version label contains. */
export function newReleaseName(version: string): string {
  const label = version
    .replace(/[^A-Za-z0-9._+-]/g, "_")
    .replace(/^[._]+/, "")
    .slice(0, 64);
  return `${label || "release"}-${randomBytes(4).toString("hex")}`;
}

export function writeRelease(layout: Layout, target: TargetName, name: string, record: ReleaseRecord): Promise<void> {
  const applications = record.items.filter(isApplication).map(({ id, data }) => ({ id, data }));
  const stored: z.input<typeof storedRecord> = {
    ...record,
    items: record.items.filter((item) => !isApplication(item)),
    ...(applications.length > 0 && { applications }),
  };
  return writeJsonFile(recordFile(layout, target, name), stored, { durable: layout.durability !== "none" });
}

/** True for a release with a record, even one that this Sealift cannot read: another version may have written it. */
export const hasRecord = async (layout: Layout, target: TargetName, name: string): Promise<boolean> =>
  (await statsOf(recordFile(layout, target, name))) !== undefined;

/**
 * Removes a release that nothing links to, and its staged files. Its name goes first, durably: a half-removed release
 * would look like one to go back to.
 */
export async function removeRelease(layout: Layout, target: TargetName, name: string): Promise<void> {
  const folder = layout.release(target, name);
  const doomed = layout.staging(target, name);
  if ((await statsOf(folder)) !== undefined) {
    await rename(folder, doomed);
    await syncNames(layout, layout.releases(target));
  }
  await removeTree(doomed);
}

export async function readRelease(layout: Layout, target: TargetName, name: string): Promise<Release | undefined> {
  const record = await readJsonFile(recordFile(layout, target, name), releaseRecord);
  return record && { name, ...record };
}

/** Name of the release that `current` points to, whether or not it is whole. */
export async function currentName(layout: Layout, target: TargetName): Promise<string | undefined> {
  const text = await ifThere(readlink(layout.current(target)));
  return text === undefined ? undefined : basename(text);
}

/** Returns the running release of a target. */
export async function currentRelease(layout: Layout, target: TargetName): Promise<Release | undefined> {
  const name = await currentName(layout, target);
  return name === undefined ? undefined : readRelease(layout, target, name);
}

/**
 * Returns the running release of a target, for a run that is to change what runs. A torn record is that of a damaged
 * release, which counts as none.
 *
 * @throws DeploymentError `release_unreadable` for the record of another version of Sealift: a run that fails could not
 *   go back to that release, whose folders it does not know
 */
export async function replaceableRelease(layout: Layout, target: TargetName): Promise<Release | undefined> {
  const name = await currentName(layout, target);
  if (name === undefined) return undefined;
  const release = await readRelease(layout, target, name);
  if (release === undefined && (await isForeign(recordFile(layout, target, name))))
    throw deploymentError(
      "release_unreadable",
      `This version of Sealift does not know the record of ${name}, which runs.`,
      {
        hint: "A newer version of Sealift deployed it. Upgrade Sealift on this host, or deploy with that version.",
      },
    );
  return release;
}

/** True for a file that is whole JSON: a cut makes no other object of one. */
async function isForeign(file: string): Promise<boolean> {
  const text = await ifThere(readFile(file, "utf8"));
  try {
    return text !== undefined && typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** Returns the signer of the release that an installed plugin's folder is in; undefined for any other folder. */
export async function signerOfInstalled(folder: string): Promise<string | null | undefined> {
  const path = await ifThere(realpath(folder));
  return path === undefined ? undefined : (await readJsonFile(join(path, "../../release.json"), releaseRecord))?.signer;
}

/** Lists the complete releases of a target, newest first. */
export async function listReleases(layout: Layout, target: TargetName): Promise<Release[]> {
  const names = await namesIn(layout.releases(target));
  const found = await Promise.all(names.map((name) => readRelease(layout, target, name)));
  return found
    .filter((release) => release !== undefined)
    .toSorted((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));
}

/** Lists releases with a record that this Sealift cannot read; they are neither used nor removed. */
export async function unreadableReleases(layout: Layout, target: TargetName): Promise<string[]> {
  const unreadable: string[] = [];
  for (const name of await namesIn(layout.releases(target)))
    if ((await hasRecord(layout, target, name)) && (await readRelease(layout, target, name)) === undefined)
      unreadable.push(name);
  return unreadable;
}

/**
 * Returns the creation time for a new release: later than those of all kept ones, even if the clock was set back, so
 * that releases stay in order.
 */
export async function nextMoment(layout: Layout, target: TargetName): Promise<string> {
  const [newest] = await listReleases(layout, target);
  const now = Date.now();
  const last = newest === undefined ? Number.NaN : Date.parse(newest.created_at);
  return new Date(last >= now ? last + 1 : now).toISOString();
}

/**
 * Chooses the releases to remove when `keep` versions stay, including the running one. Of each version its newest
 * release stays, so that deploying a version again displaces no older one; of the running version an earlier release
 * stays, too, unless it is all that is kept.
 *
 * @param releases newest first
 * @param running name of the running release
 * @param keep Infinity keeps all of them
 */
export function outdatedReleases(releases: readonly Release[], running: string | undefined, keep: number): Release[] {
  if (keep === Infinity) return [];
  const current = releases.find(({ name }) => name === running);
  const others = releases.filter((release) => release !== current);
  const newest = others.filter((release, index) => others.findIndex((o) => o.version === release.version) === index);
  const versions = newest.map(({ version }) => version).filter((version) => version !== current?.version);
  const kept = new Set(versions.slice(0, Math.max(0, current === undefined ? keep : keep - 1)));
  if (current !== undefined && keep > 1) kept.add(current.version);
  return others.filter((release) => !newest.includes(release) || !kept.has(release.version));
}

/**
 * Removes old releases of a target ({@link outdatedReleases}). Reports and data are kept.
 *
 * @param keep versions to keep, including the running one; at least 1
 * @param inUse releases in which a program runs that no deployment ends: a later deployment removes them
 * @returns the names of the removed ones
 */
export async function collectReleases(
  layout: Layout,
  target: TargetName,
  keep: number,
  inUse: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const releases = await listReleases(layout, target);
  const outdated = outdatedReleases(releases, await currentName(layout, target), keep).map(({ name }) => name);
  const old = outdated.filter((name) => !inUse.has(name));
  for (const name of old) await removeRelease(layout, target, name);
  return old;
}

/** Version that a target runs, null for none, and its {@link ReleaseRecord.signer}. */
export interface RunningRelease {
  version: string | null;
  signer: string | null | undefined;
}

export const runningOf = ({ version, signer }: Pick<Release, "version" | "signer">): RunningRelease => ({
  version,
  signer,
});

/** Reads what a target runs; undefined when that cannot be read. */
export async function whatRuns(layout: Layout, target: TargetName): Promise<RunningRelease | undefined> {
  try {
    const name = await currentName(layout, target);
    if (name === undefined) return { version: null, signer: null };
    const release = await readRelease(layout, target, name);
    return release && runningOf(release);
  } catch {
    return undefined;
  }
}
