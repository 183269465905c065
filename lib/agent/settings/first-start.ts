import { blamesVersion, causeOfCode, type WaitCause } from "../../contract/blame.ts";
import type { SealiftError } from "../../contract/errors.ts";
import type { SettingsOutcome } from "../../contract/settings/texts.ts";
import type { FleetSettings } from "../../releases/fleet-settings.ts";
import { UNWORKABLE } from "./apply.ts";

/** How a turn of a watch has ended. */
export interface TurnEnd {
  outcome: string;
  error?: SealiftError;
}

/** Causes for which a version waits for a person: that may take days, and says nothing of settings. */
const FOR_A_PERSON: ReadonlySet<WaitCause | undefined> = new Set<WaitCause>(["rights", "policy", "application"]);

/**
 * Returns what a host is to say of its settings at the end of a turn. Where nothing ran, only the first start shows
 * whether a version works with them; a turn that ended for a reason of its own, such as a full disk, shows nothing, and
 * the next one decides.
 *
 * @param said what it was going to say, or has said
 * @param runs whether a release is installed now
 * @returns undefined when there is nothing to say yet, or nothing new
 */
export function saidAfter(
  said: SettingsOutcome,
  { held, next, outcome }: FleetSettings,
  runs: boolean,
  { outcome: ended, error }: TurnEnd,
): SettingsOutcome | undefined {
  const isSent = outcome?.sent === true;
  if (runs) {
    // Only a first start fails settings that the host keeps.
    const hasFailed = said.state === "failed" && next === null && held?.number === said.number;
    return hasFailed ? { ...said, state: "applied", code: null } : isSent ? undefined : said;
  }
  if (isSent) return undefined;
  if (said.state !== "applied") return said;
  // A pause, and a target that was dropped, decide nothing.
  if (error === undefined) return ended === "held" ? undefined : said;
  if (blamesVersion(error.code) || UNWORKABLE.has(error.code)) return { ...said, state: "failed", code: error.code };
  return FOR_A_PERSON.has(causeOfCode(error.code)) ? said : undefined;
}
