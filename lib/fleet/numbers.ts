import { readOutcome } from "../artifact/sealed/settings.ts";
import { deploymentError, type SealiftError } from "../contract/errors.ts";
import type { HostSettings } from "../contract/settings/records.ts";
import type { SettingsOutcome } from "../contract/settings/texts.ts";
import type { Enrolled } from "./roll.ts";

/** Most numbers by which a hub may be ahead of roll and host: beyond it would be used up for ever. */
const MOST_AHEAD = 1_000_000;

/** Returns what a host says of its settings; undefined for nothing, and for what it has not signed. */
export function outcomeOf(
  { outcome }: Pick<HostSettings, "outcome">,
  { ed25519, fingerprint }: Pick<Enrolled, "ed25519" | "fingerprint">,
  project: string,
): SettingsOutcome | undefined {
  if (outcome === null) return undefined;
  try {
    return readOutcome(outcome, { ed25519, fingerprint, project });
  } catch {
    // The hub's word alone says nothing.
    return undefined;
  }
}

/** Numbers of a host at the hub and in its own words. */
export interface Heard {
  host: Enrolled;
  row: Pick<HostSettings, "host_id" | "number" | "to">;
  outcome: Pick<SettingsOutcome, "number" | "digest" | "state" | "ignored"> | undefined;
}

/** Returns the number of the hub's document for a host's present key; 0 for none. */
export const hubNumber = ({ host, row }: Pick<Heard, "host" | "row">): number =>
  row.to === host.fingerprint ? (row.number ?? 0) : 0;

/**
 * Tells whether hub or host know a document that the roll does not: another program has uploaded it, or a hub shows two
 * operators two documents of one number.
 */
export function isAheadOfRoll(heard: Heard): boolean {
  const { host, outcome } = heard;
  const known = Math.max(host.number, host.pending ?? 0);
  if (Math.max(hubNumber(heard), outcome?.number ?? 0) > known) return true;
  return outcome !== undefined && outcome.number === host.number && outcome.digest !== host.document;
}

/**
 * Returns the number of the next document of a host: one more than the greatest of roll, hub, and what the host said.
 *
 * @throws DeploymentError `settings_conflict` for a hub that would use up all numbers
 */
export function nextNumber({ host, row, outcome }: Heard): number {
  const known = Math.max(host.number, host.pending ?? 0, outcome?.number ?? 0);
  const stated = row.number ?? 0;
  if (stated > known + MOST_AHEAD)
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

/** Hosts named in one sentence. */
const NAMED = 5;

/** Names the first of several hosts, and counts the others. */
export const namesText = (names: readonly string[]): string =>
  names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ` and ${names.length - NAMED} more` : "");
