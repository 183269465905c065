import { join } from "node:path";
import * as z from "zod";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

/** Most pairs of an operator and a host key of which the highest number is kept. */
const MOST_NUMBERS = 16;

const number = later(() => z.int().min(1));

/** Settings that this host has opened and verified. */
const accepted = later(() =>
  z.object({
    operator: z.string(),
    /** Fingerprint of the host's key that they were sealed to. */
    to: z.string(),
    number,
    /** SHA-256 of what the operator has signed. */
    digest: z.string(),
    apps: z.record(z.string(), z.record(z.string(), z.string())),
  }),
);
export type AcceptedSettings = z.infer<typeof accepted>;

const fleetSettings = later(() =>
  z.object({
    v: z.literal(1),
    /** Settings that count; null before the first. */
    held: accepted.nullable(),
    /** Newer ones that were not carried out yet, or that have failed; null for none. */
    next: accepted.nullable(),
    /** Failure of `next`, with the release that failed with them: with another one they are tried again. */
    failed: z.object({ number, code: z.string(), release: z.string().nullable() }).nullable(),
    /** Signed outcome of the newest, and whether the hub has it. */
    outcome: z.object({ text: z.string(), sent: z.boolean() }).nullable(),
    /** Counter of the project at which the hub was asked last; null before the first. */
    seen: z.int().nullable(),
    /** When a higher number came last, ISO 8601. */
    came_at: z.string().nullable(),
    /** Whether the hub was found to have only a lower number than this host. */
    behind: z.boolean().default(false),
    /** Public keys of the operators whom the watch has pinned, as of its last check. */
    pinned: z.array(z.string()).default([]),
    /** Whether the hub was found to be older than settings. */
    older_hub: z.boolean().default(false),
  }),
);
export type FleetSettings = z.infer<typeof fleetSettings>;

export const NO_SETTINGS: FleetSettings = {
  ...{ v: 1, held: null, next: null, failed: null, outcome: null, seen: null, came_at: null, behind: false },
  pinned: [],
  older_hub: false,
};

const numbersFile = later(() =>
  z.object({
    v: z.literal(1),
    /** Highest number of each operator and host key, with the digest of its settings, the newest first. */
    numbers: z.array(z.object({ operator: z.string(), to: z.string(), number, digest: z.string() })),
  }),
);

/** Name of the file, below `.sealift/state`, with the settings of a target: 0600, since it has them opened. */
export const fleetSettingsName = (target: TargetName): string => `settings-${target}.json`;

const pathOf = ({ sealift }: Layout, name: string): string => join(sealift, "state", name);
const numbersPath = (layout: Layout, target: TargetName): string => pathOf(layout, `settings-numbers-${target}.json`);

/** Returns the files that {@link writeFleetSettings} and {@link noteNumber} replace. */
export const fleetSettingsFiles = (layout: Layout, target: TargetName): string[] => [
  pathOf(layout, fleetSettingsName(target)),
  numbersPath(layout, target),
];

/** Returns the settings of the fleet that a target has on this host. */
export const readFleetSettings = async (layout: Layout, target: TargetName): Promise<FleetSettings> =>
  (await readJsonFile(pathOf(layout, fleetSettingsName(target)), fleetSettings)) ?? NO_SETTINGS;

/** Writes them; they are on the disk when this returns. */
export const writeFleetSettings = (layout: Layout, target: TargetName, settings: FleetSettings): Promise<void> =>
  writeJsonFile(pathOf(layout, fleetSettingsName(target)), settings, { mode: 0o600 });

/** Number of settings that a host has taken, and what they were. */
type Taken = Pick<AcceptedSettings, "number" | "digest">;

/** Returns what this host has taken with the highest number of an operator under a key of its own. */
export async function highestTaken(
  layout: Layout,
  target: TargetName,
  { operator, to }: Pick<AcceptedSettings, "operator" | "to">,
): Promise<Taken | undefined> {
  const known = (await readJsonFile(numbersPath(layout, target), numbersFile))?.numbers ?? [];
  return known.find((one) => one.operator === operator && one.to === to);
}

/** Notes a number that was taken, before the settings count. No removal of the target takes it away. */
export async function noteNumber(
  layout: Layout,
  target: TargetName,
  { operator, to, number: taken, digest }: Omit<AcceptedSettings, "apps">,
): Promise<void> {
  const path = numbersPath(layout, target);
  const known = (await readJsonFile(path, numbersFile))?.numbers ?? [];
  const others = known.filter((one) => one.operator !== operator || one.to !== to);
  const numbers = [{ operator, to, number: taken, digest }, ...others].slice(0, MOST_NUMBERS);
  await writeJsonFile(path, { v: 1, numbers });
}
