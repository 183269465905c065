import { isDeepStrictEqual } from "node:util";
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

/** Lists the applications that no start has tried with the settings of an outcome. */
export const untriedIn = ({ ignored }: SettingsOutcome): string[] =>
  ignored.filter(({ code }) => WAITING.has(code) || code === "app_stopped").map(({ name }) => name);

/** Tells whether no version has started with the settings of an outcome. */
const isWaiting = ({ ignored }: SettingsOutcome): boolean => ignored.some(({ code }) => WAITING.has(code));

/**
 * Returns what a host is to say of its settings at the end of a turn. Where nothing ran, only the first start shows
 * whether a version works with them; a turn that ended for a reason of its own, such as a full disk, shows nothing, and
 * the next one decides.
 *
 * @param said what it was going to say, or has said
 * @param unused what the release that is installed now does not use of them; undefined where none is
 * @returns undefined when there is nothing to say yet, or nothing new
 */
export function saidAfter(
  said: SettingsOutcome,
  { held, next, outcome }: FleetSettings,
  unused: SettingsOutcome["ignored"] | undefined,
  { outcome: ended, error }: TurnEnd,
): SettingsOutcome | undefined {
  const isSent = outcome?.sent === true;
  const news = (anew: SettingsOutcome): SettingsOutcome | undefined =>
    isDeepStrictEqual(anew, said) ? (isSent ? undefined : said) : anew;
  // Only a first start fails settings that the host keeps.
  const isHeld = next === null && held?.number === said.number;
  if (unused !== undefined) return news(isHeld ? { ...said, state: "applied", code: null, ignored: unused } : said);
  if (said.state !== "applied" || (isSent && !isWaiting(said))) return news(said);
  // A pause, and a target that was dropped, decide nothing.
  if (error === undefined && ended === "held") return undefined;
  const code = error?.code ?? "no_version";
  const others = said.ignored.filter((one) => !WAITING.has(one.code));
  if (WAITING.has(code)) {
    const untried = Object.keys(held?.apps ?? {}).map((name) => ({ name, code }));
    return news({ ...said, ignored: [...untried, ...others].slice(0, MAX_IGNORED) });
  }
  const hasFailed = blamesVersion(code) || UNWORKABLE.has(code);
  return hasFailed ? { ...said, state: "failed", code, ignored: others } : undefined;
}
