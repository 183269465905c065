import * as z from "zod";
import { blamesVersion } from "../contract/blame.ts";
import { type Code, EXIT } from "../contract/codes.ts";
import type { SealiftError } from "../contract/errors.ts";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import { programVersion } from "../support/program-version.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const quarantineEntry = later(() =>
  z.object({
    version: z.string(),
    /** Identity that distinguishes two artifacts of one version; null when the bytes were never known. */
    identity: z.string().nullable(),
    code: z.string(),
    reason: z.string(),
    at: z.string(),
    /** Signers that the host accepted, if these have refused it: the entry counts until they change. */
    signers: z.string().nullable().optional(),
    /** Version of the Sealift that refused it, if another one may know its format; missing in older records. */
    agent: z.string().optional(),
  }),
);
export type QuarantineEntry = z.infer<typeof quarantineEntry>;

const targetState = later(() =>
  z.object({
    quarantine: z.array(quarantineEntry).default([]),
    /** Version during whose fetch the process ended without a word, and how often in a row. */
    deaths: z.object({ version: z.string(), identity: z.string().nullable(), times: z.int() }).optional(),
  }),
);
type TargetState = z.infer<typeof targetState>;

const readState = async (layout: Layout, target: TargetName): Promise<TargetState> =>
  (await readJsonFile(layout.state(target), targetState)) ?? { quarantine: [] };

/** Changes parts of a target's state; the others stay. */
const changeState = async (layout: Layout, target: TargetName, change: Partial<TargetState>): Promise<void> =>
  writeJsonFile(layout.state(target), { ...(await readState(layout, target)), ...change });

/** Most entries kept, newest last. */
const MAX_ENTRIES = 100;

/** Code of a version that its author has not signed. */
const UNSIGNED: Code = "signature_missing";

/** Codes of failed checks whose result depends on the accepted signers. */
const BY_SIGNERS = new Set<Code>([UNSIGNED, "signer_untrusted", "trust_changed"]);

/** True for a failure that the signers decide which the host accepts. */
export const saysOfTheSigner = ({ code }: SealiftError): boolean => BY_SIGNERS.has(code);

/** Codes of documents that a newer Sealift may know: another agent judges the version anew. */
const BY_AGENT = new Set<string>(["manifest_invalid", "plan_invalid", "app_invalid"] satisfies Code[]);

/** Codes of failures after the switch that the version itself has caused. */
const ABOUT_THE_RELEASE = new Set<Code>(["unhealthy", "supervisor_failed"]);

/** True for a failure that the version itself has caused, unless the supervisor has stopped working. */
export const saysOfTheRelease = ({ code }: SealiftError): boolean => ABOUT_THE_RELEASE.has(code);

/**
 * Decides whether a failure puts a version into quarantine (docs/contract/host.md): bytes that failed a check do, and
 * releases that did not work once switched to. What blames no version (blame.ts) does not: trouble of the hub, the
 * network or the host, and an interruption.
 *
 * @param switched whether the release was current when it failed
 */
export const condemns = (error: SealiftError, switched: boolean): boolean =>
  blamesVersion(error.code) && (error.exitCode === EXIT.verification || (switched && saysOfTheRelease(error)));

/** Deaths of a process in a row, while it fetched one version, from which on the version counts as their cause. */
const FATAL_DEATHS = 3;

/**
 * Notes that a process was killed while it fetched and unpacked a version, on a machine that went on. One death blames
 * no version: a person or the system may have killed the process.
 *
 * @returns whether so many in a row blame it now
 */
export async function noteDeath(
  layout: Layout,
  target: TargetName,
  { version, identity }: Pick<QuarantineEntry, "version" | "identity">,
): Promise<boolean> {
  const { deaths } = await readState(layout, target);
  const times = deaths?.version === version && deaths.identity === identity ? deaths.times + 1 : 1;
  await changeState(layout, target, { deaths: { version, identity, times } });
  return times >= FATAL_DEATHS;
}

/** Forgets deaths during a fetch: a version was fetched and unpacked without one. */
export async function forgetDeaths(layout: Layout, target: TargetName): Promise<void> {
  if ((await readState(layout, target)).deaths !== undefined) await changeState(layout, target, { deaths: undefined });
}

/** Version that may be in quarantine, with what is known of it and of this host. */
export interface QuarantineCandidate {
  version: string;
  /** Identity of the bytes; null if unknown: they may be the quarantined ones. */
  identity: string | null;
  /** Whether its author has signed it: a version refused for a missing signature may have got one since. */
  isSigned?: boolean | undefined;
  /** Signers that the host accepts now; undefined where that ends no quarantine. */
  signers?: string | null | undefined;
}

/** Returns the entry that holds a version back. */
export const heldBack = (
  entries: readonly QuarantineEntry[],
  { version, identity, isSigned = false, signers }: QuarantineCandidate,
): QuarantineEntry | undefined =>
  entries.find(
    (entry) =>
      entry.version === version &&
      !(isSigned && entry.code === UNSIGNED) &&
      (entry.signers === undefined || signers === undefined || entry.signers === signers) &&
      (entry.identity === null || identity === null || entry.identity === identity),
  );

/**
 * Reads the versions that were rolled back or failed a check, newest last. Leaves out those that another Sealift
 * refused for a document whose format this one may know.
 */
export async function readQuarantine(layout: Layout, target: TargetName): Promise<QuarantineEntry[]> {
  const { quarantine: entries } = await readState(layout, target);
  return entries.filter(({ code, agent }) => !BY_AGENT.has(code) || agent === programVersion());
}

/** Quarantines a version until a newer one comes or a person asks. */
export async function quarantine(layout: Layout, target: TargetName, entry: QuarantineEntry): Promise<void> {
  const others = (await readQuarantine(layout, target)).filter(({ version }) => version !== entry.version);
  const judged = BY_AGENT.has(entry.code) ? { ...entry, agent: programVersion() } : entry;
  await changeState(layout, target, { quarantine: [...others, judged].slice(-MAX_ENTRIES) });
}

/** Code of a version that a person has left by a rollback. */
export const OPERATOR = "operator";

/** Releases the versions that persons have left by rollbacks. */
export async function releaseLeft(layout: Layout, target: TargetName): Promise<void> {
  const entries = await readQuarantine(layout, target);
  const others = entries.filter(({ code }) => code !== OPERATOR);
  if (others.length < entries.length) await changeState(layout, target, { quarantine: others });
}

/** Releases the versions that did not work once they ran: other settings may have been to blame. */
export async function releaseFailed(layout: Layout, target: TargetName): Promise<void> {
  const entries = await readQuarantine(layout, target);
  const others = entries.filter(({ code }) => !ABOUT_THE_RELEASE.has(code as Code));
  if (others.length < entries.length) await changeState(layout, target, { quarantine: others });
}

/** Releases a version that has been deployed after all. */
export async function releaseFromQuarantine(layout: Layout, target: TargetName, version: string): Promise<void> {
  const entries = await readQuarantine(layout, target);
  const others = entries.filter((entry) => entry.version !== version);
  if (others.length < entries.length) await changeState(layout, target, { quarantine: others });
}
