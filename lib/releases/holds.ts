import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { APPLICATIONS_FILE, APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import type { TargetName } from "../contract/target.ts";
import { ifThere, readFileUpTo } from "../support/files.ts";
import { withoutConsent } from "./consent.ts";
import { readFleetSettings } from "./fleet-settings.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";
import { currentName } from "./release.ts";
import { readSettingsFile } from "./settings-file.ts";

/** Versions that wait on this host, each in a file of its own by what it waits for (docs/contract/host.md). */

const base = {
  version: z.string(),
  /** Identity that distinguishes two artifacts of one version. */
  identity: z.string().nullable(),
  /** Time when the version was looked at. */
  at: z.string(),
};

/** Form of each file. Sealift 0.1.0 and 0.2.0 read and write the first three as they are. */
const FORMS = {
  /** Version that requests more rights than the running one, while nobody has consented. */
  rights: z.object({
    ...base,
    /** Name of the release that ran when the rights were compared; for another one they are void. */
    over: z.string(),
    running_version: z.string(),
    /** Rights that the version requests beyond the running release, one line each. */
    rights: z.array(z.string()),
  }),
  /** Version that does not meet the host's policy. */
  policy: z.object({
    ...base,
    /** Rule that does not hold, and why. */
    message: z.string(),
    /** Time when the version is checked again. */
    again: z.string(),
    /** Time when the kit was made that has brought the version; left out where a hub was asked. */
    kit_made_at: z.string().optional(),
  }),
  /** Version with an application that this host does not allow. */
  application: z.object({
    ...base,
    /** Missing permission of the operator, or what the host lacks. */
    message: z.string(),
    /** Digest of the operator's file that did not allow it; null without one. */
    grants: z.string().nullable(),
    /** Time when the version is looked at again even if that file is the same; null for never. */
    again: z.string().nullable(),
  }),
  /** Version that waits for settings of its applications. */
  settings: z.object({
    ...base,
    /** Required names that have no value. */
    message: z.string(),
    /** Applications of the version, whose files of settings decide. */
    apps: z.array(z.string()),
    /** Digest of those files and of the settings of the fleet that the host held. */
    settings: z.string(),
  }),
};

const FILES = { rights: "rights", policy: "policy", application: "apps", settings: "held-settings" } as const;

/** Cause for which a version waits. */
export type HoldCause = keyof typeof FORMS;
/** Every cause, in the order in which a version is held for them. */
export const HOLD_CAUSES = ["rights", "policy", "application", "settings"] as const satisfies HoldCause[];

/** Record of a version that waits, as its file has it. */
export type Held<C extends HoldCause> = Readonly<z.infer<(typeof FORMS)[C]>>;

/** Version that waits on this host: why, and until when at most. */
export interface Hold extends Pick<Held<"policy">, "version" | "identity" | "message"> {
  reason: HoldCause;
  /** Time when the version is looked at again whatever has changed; null for never. */
  again: string | null;
  /** Rights that it requests beyond the running release. */
  rights?: readonly string[];
  /** Time when the kit was made by whose word a policy has refused it; left out where a hub was asked. */
  kitMadeAt?: string;
}

export const holdFile = (layout: Layout, target: TargetName, cause: HoldCause): string =>
  join(layout.sealift, "state", `${FILES[cause]}-${target}.json`);

/** Returns the version that waited when it was looked at last, whether or not it still does. */
export const readHeld = <C extends HoldCause>(
  layout: Layout,
  target: TargetName,
  cause: C,
): Promise<Held<C> | undefined> =>
  readJsonFile(holdFile(layout, target, cause), FORMS[cause]) as Promise<Held<C> | undefined>;

export const writeHeld = <C extends HoldCause>(
  layout: Layout,
  target: TargetName,
  cause: C,
  held: Held<C>,
): Promise<void> => writeJsonFile(holdFile(layout, target, cause), held);

export const forgetHeld = (layout: Layout, target: TargetName, cause: HoldCause): Promise<void> =>
  rm(holdFile(layout, target, cause), { force: true });

/** Tells whether what a version waits for has not changed since. */
const STANDS: { [C in HoldCause]: (held: Held<C>, layout: Layout, target: TargetName) => Promise<boolean> } = {
  rights: async (held, layout, target) =>
    held.over === (await currentName(layout, target)) && (await withoutConsent(layout, target, held)).length > 0,
  policy: () => Promise.resolve(true),
  application: async ({ grants }, layout) => grants === (await grantsDigest(layout)),
  settings: async ({ settings, apps }, layout, target) => settings === (await settingsDigest(layout, target, apps)),
};

/** Tells whether a version is due for another look. A time in the future is: the clock was set back since. */
const isDue = ({ at, again }: { at: string; again?: string | null }, now: number): boolean =>
  again !== undefined && !(Date.parse(at) <= now && (again === null || now < Date.parse(again)));

/** Returns the version that still waits: what it waits for has not changed, and it is not to be looked at again yet. */
export async function stillHeld<C extends HoldCause>(
  layout: Layout,
  target: TargetName,
  cause: C,
): Promise<Held<C> | undefined> {
  const held = await readHeld(layout, target, cause);
  if (held === undefined || isDue(held, Date.now())) return undefined;
  return (await STANDS[cause](held, layout, target)) ? held : undefined;
}

/** Returns the versions that wait on this host for one of the causes. */
export async function holdsOf(
  layout: Layout,
  target: TargetName,
  causes: readonly HoldCause[] = HOLD_CAUSES,
): Promise<Hold[]> {
  const holds: Hold[] = [];
  for (const reason of causes) {
    const held: Held<HoldCause> | undefined = await stillHeld(layout, target, reason);
    if (held === undefined) continue;
    const { version, identity } = held;
    const waits = "rights" in held ? { message: rightsMessage(held), rights: held.rights } : { message: held.message };
    const ofKit = "kit_made_at" in held && held.kit_made_at !== undefined && { kitMadeAt: held.kit_made_at };
    holds.push({ reason, version, identity, again: "again" in held ? held.again : null, ...waits, ...ofKit });
  }
  return holds;
}

/** Most rights that a message lists; the event and the error's faults have all of them. */
const NAMED = 8;

/** Describes in one sentence what a held version requests. */
export function rightsMessage({
  version,
  running_version: running,
  rights,
}: Pick<Held<"rights">, "version" | "running_version" | "rights">): string {
  const rest = rights.length - NAMED;
  const named = `${rights.slice(0, NAMED).join("; ")}${rest > 0 ? `; and ${rest} more` : ""}`;
  return `${version} asks for more rights than the running ${running}: ${named}.`;
}

const MAX_GRANTS_BYTES = 1024 * 1024;

/** Returns a text that changes with the operator's `applications.yaml`; null where it cannot be read. */
export async function grantsDigest({ root }: Layout): Promise<string | null> {
  const bytes = await ifThere(readFileUpTo(join(root, APPLICATIONS_FILE), MAX_GRANTS_BYTES)).catch(() => undefined);
  return bytes === undefined ? null : createHash("sha256").update(bytes).digest("hex");
}

/** Returns a text that changes with the settings of applications: their files, and those of the fleet that are held. */
export async function settingsDigest(layout: Layout, target: TargetName, apps: readonly string[]): Promise<string> {
  const { held } = await readFleetSettings(layout, target);
  const hash = createHash("sha256").update(JSON.stringify(held && [held.operator, held.to, held.number]));
  for (const id of apps) {
    const file = layout.envFile({ section: APPLICATIONS_FOLDER, id });
    const text = await readSettingsFile(file).catch(() => undefined);
    hash.update(`\n${id} ${text === undefined ? "-" : createHash("sha256").update(text).digest("hex")}`);
  }
  return hash.digest("hex");
}
