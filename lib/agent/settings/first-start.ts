import { blamesVersion } from "../../contract/blame.ts";
import type { Code } from "../../contract/codes.ts";
import type { SealiftError } from "../../contract/errors.ts";
import { MAX_IGNORED, type SettingsOutcome } from "../../contract/settings/texts.ts";
import type { FleetSettings } from "../../releases/fleet-settings.ts";
import { UNWORKABLE } from "./apply.ts";

/** The end of a turn of a watch. */
export interface TurnEnd {
  outcome: string;
  error?: SealiftError;
}

/** Codes for which nothing starts until a person acts: that may take days, and says nothing of settings. */
const WAITING: ReadonlySet<string> = new Set<Code>(["no_version", "rights_held", "policy_refused", "app_not_allowed"]);

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
    const tried = said.ignored.filter(({ code }) => !WAITING.has(code));
    const isNews = hasFailed || tried.length < said.ignored.length;
    if (isNews) return { ...said, ...(hasFailed && { state: "applied", code: null }), ignored: tried };
    return isSent ? undefined : said;
  }
  if (isSent) return undefined;
  if (said.state !== "applied") return said;
  // A pause, and a target that was dropped, decide nothing.
  if (error === undefined && ended === "held") return undefined;
  const code = error?.code ?? "no_version";
  if (WAITING.has(code)) return { ...said, ignored: untried(code, held, said) };
  return blamesVersion(code) || UNWORKABLE.has(code) ? { ...said, state: "failed", code } : undefined;
}

/** Returns what was not used, with each application that was not started: another host is then tried first. */
function untried(code: string, held: FleetSettings["held"], { ignored }: SettingsOutcome): SettingsOutcome["ignored"] {
  const ids = Object.keys(held?.apps ?? {});
  return [...ids.map((name) => ({ name, code })), ...ignored].slice(0, MAX_IGNORED);
}
