import * as z from "zod";
import { type Code, EXIT } from "../contract/codes.ts";
import type { SealiftError } from "../contract/errors.ts";
import type { TargetName } from "../contract/target.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const quarantineEntry = z.object({
  version: z.string(),
  /** Tells two artifacts of one version apart; null when the bytes were never known. */
  identity: z.string().nullable(),
  code: z.string(),
  reason: z.string(),
  at: z.string(),
  /** The signers that the host accepted, where they have refused it: it counts until those are others. */
  signers: z.string().nullable().optional(),
});
export type QuarantineEntry = z.infer<typeof quarantineEntry>;

const targetState = z.object({ quarantine: z.array(quarantineEntry).default([]) });

/** Entries that are kept, newest last. */
const MAX_ENTRIES = 100;

/** The code of a version that its author has not signed. */
const UNSIGNED: Code = "signature_missing";

/** Failed checks that would end otherwise if the host accepted other signers. */
const BY_SIGNERS = new Set<Code>([UNSIGNED, "signer_untrusted", "trust_changed"]);

/** True for a failure that the signers decide which the host accepts. */
export const saysOfTheSigner = ({ code }: SealiftError): boolean => BY_SIGNERS.has(code);

/** Failures after the switch that the version itself has caused. */
const ABOUT_THE_RELEASE = new Set<Code>(["unhealthy", "supervisor_failed"]);

/** True for a failure that the version itself has caused, unless the supervisor has stopped working. */
export const saysOfTheRelease = ({ code }: SealiftError): boolean => ABOUT_THE_RELEASE.has(code);

/**
 * The rule of quarantine (docs/contract/host.md): bytes that failed a check, and releases that were switched to and did
 * not work. Trouble of the hub, the network or the host condemns no version.
 *
 * @param switched whether the release was current when it failed
 */
export const condemns = (error: SealiftError, switched: boolean): boolean =>
  error.exitCode === EXIT.verification || (switched && saysOfTheRelease(error));

/** A version that may be held back, by what is known of it and of this host. */
export interface QuarantineCandidate {
  version: string;
  /** Identity of the bytes. Null when it is not known: they may be the quarantined ones. */
  identity: string | null;
  /** Whether its author has signed it: one that was refused without a signature may have got it since. */
  isSigned?: boolean | undefined;
  /** The signers that the host accepts now; undefined where that ends no quarantine. */
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

/** Versions that were rolled back or failed a check, newest last. */
export async function readQuarantine(layout: Layout, target: TargetName): Promise<QuarantineEntry[]> {
  return (await readJsonFile(layout.state(target), targetState))?.quarantine ?? [];
}

/** Keeps a version out of the loop until a newer one comes or a person asks. */
export async function quarantine(layout: Layout, target: TargetName, entry: QuarantineEntry): Promise<void> {
  const others = (await readQuarantine(layout, target)).filter(({ version }) => version !== entry.version);
  await writeJsonFile(layout.state(target), { quarantine: [...others, entry].slice(-MAX_ENTRIES) });
}

/** The code of a version that a person has left by a rollback. */
export const OPERATOR = "operator";

/** Lets in again what persons have left by rollbacks. */
export async function releaseLeft(layout: Layout, target: TargetName): Promise<void> {
  const entries = await readQuarantine(layout, target);
  const others = entries.filter(({ code }) => code !== OPERATOR);
  if (others.length < entries.length) await writeJsonFile(layout.state(target), { quarantine: others });
}

/** Lets a version in again: it was deployed after all. */
export async function releaseFromQuarantine(layout: Layout, target: TargetName, version: string): Promise<void> {
  const entries = await readQuarantine(layout, target);
  const others = entries.filter((entry) => entry.version !== version);
  if (others.length < entries.length) await writeJsonFile(layout.state(target), { quarantine: others });
}
