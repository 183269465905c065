import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { later } from "../contract/later.ts";
import { type Health, HEALTH_STATES } from "../contract/surfaces/host-record.ts";
import type { TargetName } from "../contract/target.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";
import { releaseName } from "./names.ts";
import { currentName } from "./release.ts";

const standing = later(() =>
  z.object({
    v: z.literal(1),
    /** Release that was asked. */
    release: releaseName,
    state: z.enum(HEALTH_STATES),
    /** Time at which it became so; of an unhealthy one, that of the first miss. */
    since: z.string(),
    /** Unhealthy units, each with what was wrong with it. */
    units: z.record(z.string(), z.string()),
    /** Last state that a report tells, when it was written, and its name. */
    told: z.object({ state: z.enum(HEALTH_STATES), at: z.string(), report: z.string() }).optional(),
  }),
);
/** Health of a running release, as a watch has asked it since the deployment. */
export type Standing = Readonly<z.infer<typeof standing>>;

const standingFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `health-${target}.json`);

/** Reads the health of the release that runs now; undefined where no watch has asked it. */
export async function readStanding(layout: Layout, target: TargetName): Promise<Standing | undefined> {
  const found = await readJsonFile(standingFile(layout, target), standing);
  return found !== undefined && found.release === (await currentName(layout, target)) ? found : undefined;
}

/**
 * Forgets the health of a release that is left: to go back to it is to check it anew. @returns its name if it was
 * unhealthy
 */
export async function leaveStanding(layout: Layout, target: TargetName): Promise<string | undefined> {
  const found = await readJsonFile(standingFile(layout, target), standing);
  if (found !== undefined) await rm(standingFile(layout, target), { force: true });
  return found?.state === "unhealthy" ? found.release : undefined;
}

export const writeStanding = (layout: Layout, target: TargetName, found: Standing): Promise<void> =>
  writeJsonFile(standingFile(layout, target), found);

/** Describes what is wrong with the units of a release: `apps/web: GET http://… answered 500`. */
export const troubleText = ({ units }: Pick<Standing, "units">): string =>
  Object.entries(units)
    .map(([unit, fault]) => `${unit}: ${fault}`)
    .join("; ");

/** Returns the health of a running release in the form of reports; undefined where it was never unhealthy. */
export const healthIn = (found: Standing | undefined): Health | undefined =>
  found && { state: found.state, since: found.since };

/** Unhealthy release, for people. */
export interface Sick {
  since: string;
  message: string;
}

/** Returns since when a running release is unhealthy, and why; undefined for any other. */
export const sickOf = (found: Standing | undefined): Sick | undefined =>
  found?.state === "unhealthy" ? { since: found.since, message: troubleText(found) } : undefined;
