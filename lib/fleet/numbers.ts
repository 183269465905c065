import { readOutcome } from "../artifact/sealed/settings.ts";
import { artifactError, deploymentError, type SealiftError } from "../contract/errors.ts";
import { MOST_AHEAD } from "../contract/settings/limits.ts";
import type { HostSettings } from "../contract/settings/records.ts";
import type { SettingsOutcome } from "../contract/settings/texts.ts";
import { namesText } from "../support/names-text.ts";
import type { Enrolled } from "./roll.ts";

/** Returns what a host says of its settings; undefined for nothing, and for what it has not signed. */
export function outcomeOf(
  { outcome }: Pick<HostSettings, "outcome">,
  { ed25519, fingerprint }: Pick<Enrolled, "ed25519" | "fingerprint">,
  project: string,
): SettingsOutcome | undefined {
  try {
    return outcome === null ? undefined : readOutcome(outcome, { ed25519, fingerprint, project });
  } catch {
    // The hub's word alone says nothing.
    return undefined;
  }
}

/** Numbers of a host at the hub and in its own words. */
export interface Heard {
  host: Enrolled;
  row: Pick<HostSettings, "host_id" | "number" | "to" | "out_of_service">;
  outcome: Pick<SettingsOutcome, "number" | "digest" | "state" | "ignored"> | undefined;
}

/** Returns the number of the hub's document for a host's present key; 0 for none. */
export const hubNumber = ({ host, row }: Pick<Heard, "host" | "row">): number =>
  row.to === host.fingerprint ? (row.number ?? 0) : 0;

/** Returns the highest number that the roll has used for a host, or was about to. */
const rollNumber = ({ number, pending }: Pick<Enrolled, "number" | "pending">): number =>
  Math.max(number, pending ?? 0);

/** Tells whether the hub has a document that the roll does not know: another program has uploaded it. */
export const isAheadOfRoll = (heard: Pick<Heard, "host" | "row">): boolean => hubNumber(heard) > rollNumber(heard.host);

/**
 * Returns why a host's word about its settings does not count; undefined where it does. Another program's document is
 * at the hub, too: a number that the host alone knows is a lie of the host, or the hub withholds that document. Either
 * way the others get theirs.
 *
 * @param replaces whether settings are replaced that another program has uploaded: then only impossible numbers count
 *   as lies
 */
export function disbelief(heard: Heard, replaces: boolean): SealiftError | undefined {
  const { host, outcome } = heard;
  if (outcome === undefined) return undefined;
  const { number } = outcome;
  const roll = rollNumber(host);
  if (number > roll + MOST_AHEAD) return lies(host.name, `settings with the number ${number}`, false);
  if (replaces) return undefined;
  if (number > Math.max(roll, hubNumber(heard))) return lies(host.name, `settings with the number ${number}`, true);
  const isOther = number === host.number && outcome.digest !== host.document;
  return isOther ? lies(host.name, `other settings with the number ${number}`, true) : undefined;
}

/** @param mayBe whether another operator may have made them */
const lies = (name: string, what: string, mayBe: boolean): SealiftError =>
  artifactError(
    "outcome_invalid",
    `${name} says that it has ${what}, which neither fleet.lock nor the hub knows. It gets none.`,
    {
      hint: mayBe
        ? `Take the newest fleet.lock (git pull), or give it newer ones with --replace. If nobody else has applied, somebody may have its key: \`sealift settings remove ${name}\`.`
        : `No operator comes to such a number: somebody may have its key. \`sealift settings remove ${name}\`, set it up anew, and let it join again.`,
    },
  );

/**
 * Returns the number of the next document of a host: one more than the greatest of roll, hub, and what the host said.
 *
 * @param heard with an outcome that is believed ({@link disbelief})
 * @throws DeploymentError `settings_conflict` for a hub that would use up all numbers
 */
export function nextNumber({ host, row, outcome }: Heard): number {
  const known = Math.max(rollNumber(host), outcome?.number ?? 0);
  const stated = row.number ?? 0;
  if (stated > known + MOST_AHEAD || Math.max(known, stated) >= Number.MAX_SAFE_INTEGER)
    throw deploymentError(
      "settings_conflict",
      `The hub says that ${host.name} has settings with the number ${stated}.`,
      {
        hint: `Neither the host nor the roll knows such a one. Nothing was uploaded; ask whoever runs the hub.`,
      },
    );
  return Math.max(known, stated) + 1;
}

/** Makes the error of an apply from a roll that is older than what others have uploaded. */
export const rollIsBehind = (hosts: readonly string[], file: string): SealiftError =>
  deploymentError(
    "settings_conflict",
    `Somebody else has uploaded settings since ${file} was written: for ${namesText(hosts)}.`,
    {
      hint: "Nothing was uploaded. Take the newest fleet.yaml and fleet.lock (git pull); --replace uploads yours all the same.",
    },
  );
