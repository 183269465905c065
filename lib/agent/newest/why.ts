import type { Code } from "../../contract/codes.ts";
import { type VersionState, versionStateText } from "../../contract/version-states.ts";
import { counted } from "../../support/counted.ts";
import { HOW_TO_ALLOW } from "../applications/not-allowed.ts";
import { policyHint } from "../deployment/policy.ts";
import { consentHint } from "../deployment/rights.ts";
import { HOW_TO_SET, whereNothingRuns } from "../watch/decide.ts";
import type { HoldReason } from "../watch/events.ts";

/** Reason why a host does not run the newest version of a target, or that it does. */
export type WhyReason =
  | "newest"
  | "unpublished"
  | "unreachable"
  | "pinned"
  | "yanked"
  | "held"
  | "wave"
  | "window"
  | "approval"
  | "rollout_paused"
  | "paused"
  | "quarantined"
  | "downgrade"
  | "rights"
  | "policy"
  | "application"
  | "settings"
  | "withdrawn"
  | "deploying"
  | "clock"
  | "signer"
  | "failing"
  | "unheard";

/** Facts of a rollout that tell why a host waits for its version. */
export interface LiveRollout {
  state: string;
  reason: string | null;
  waiting_for: string | null;
  /** Waves that are open: the first ones. */
  open: number;
  waves: readonly { wave: string }[];
}

/** A reason in words, and the next thing to do about it. */
export interface Why {
  reason: WhyReason;
  /** Version that does not run for this reason; null for none. */
  version: string | null;
  message: string;
  hint?: string;
}

/** Published version, as its hub lists it. */
export interface ListedVersion {
  version: string;
  isYanked: boolean;
  yankedReason: string | null;
  state: VersionState | undefined;
  stateReason: string | null;
}

/** Facts about a target of this host. Facts that were not requested are undefined. */
export interface Situation {
  /** Target as people write it. */
  target: string;
  running: string | null;
  /** Version that the hub gives this host; null for none. */
  given?: string | null | undefined;
  /** Version that the host gets when a rollout's window opens, and when that is, ISO 8601. */
  next?: { version: string; at: string } | undefined;
  /** Version that a rollout took back from this host. */
  withdrawn?: string | null | undefined;
  newest?: ListedVersion | undefined;
  /** The live rollout of the newest version. */
  rollout?: LiveRollout | undefined;
  /** Trouble with asking the hub. */
  unreachable?: { message: string; hint?: string | undefined } | undefined;
  pin: { version: string; reason?: string | null } | null;
  paused: boolean;
  /** A watch's decision to hold a version back, with the code of the failure behind it. */
  held?:
    { version: string; reason: HoldReason; message: string; code?: string | undefined; isByKit?: boolean } | undefined;
  deploying?: boolean;
  /** Difference between the clocks of host and hub in seconds, where it is too large. */
  clockSeconds?: number | undefined;
  /** Last failure that no later turn has fixed. */
  error?: { code: string; message: string } | undefined;
  /** Latest version that a watch here knows; undefined where none runs. */
  heard?: string | null | undefined;
}

/** Codes of failures that concern the signer of a version. */
const OF_THE_SIGNER = new Set<string | undefined>([
  "signer_untrusted",
  "signature_missing",
  "signature_invalid",
  "trust_changed",
] satisfies Code[]);
const SIGNER_HINT = "`sealift docs signers` says how a signer is replaced.";

/**
 * Explains why a host does not run the newest version, for `doctor`, `status` and the dashboard. Returns the reason
 * `newest` if it does, as far as is known.
 */
export function whyNotNewest(situation: Situation): Why {
  const { target, running, given, newest, pin, unreachable } = situation;
  if (pin !== null && running === pin.version && newest?.version !== running)
    return {
      ...{ reason: "pinned", version: newest?.version ?? null },
      message: `it is pinned to ${pin.version}${pin.reason ? `: ${pin.reason}` : ""}`,
      hint: `\`sealift unpin ${target}\` follows the latest version again.`,
    };
  if (unreachable !== undefined && (given === undefined || given === running))
    return {
      ...{
        reason: "unreachable",
        version: null,
        message: `the hub cannot be asked: ${unfinished(unreachable.message)}`,
      },
      ...(unreachable.hint !== undefined && { hint: unreachable.hint }),
    };
  if (running === newest?.version && !newest?.isYanked && situation.withdrawn !== running)
    return { reason: "newest", version: null, message: "the newest version" };
  const wanted = pin?.version ?? given ?? null;
  if (wanted !== null && wanted !== running) return ofTheHost(situation, wanted);
  return ofTheHub(situation);
}

/** Returns why a host that runs what the hub gives it gets nothing newer. */
function ofTheHub({ target, running, given, newest, next, rollout }: Situation): Why {
  if (newest === undefined && next === undefined) {
    if (given === null && running === null)
      return { reason: "unpublished", version: null, message: "no version is published" };
    return { reason: "newest", version: null, message: "the version that the hub gives it" };
  }
  const { version } = newest ?? next!;
  const look = `\`sealift rollout show ${target}\` shows it.`;
  if (newest?.isYanked === true)
    return {
      ...{ reason: "yanked", version, message: `${version} was yanked${because(newest.yankedReason)}` },
      hint: `\`sealift version list ${target}\` shows the others.`,
    };
  if (newest?.state?.name === "held")
    return {
      ...{ reason: "held", version },
      message: `${version} is ${versionStateText(newest.state)}${because(newest.stateReason)}`,
      hint: `\`sealift version release ${target} ${version}\` opens it to every host; \`sealift rollout start\` rolls it out.`,
    };
  if (rollout?.state === "paused")
    return {
      ...{ reason: "rollout_paused", version, message: `its rollout is paused${because(rollout.reason)}` },
      hint: `\`sealift rollout resume ${target}\` goes on.`,
    };
  if (next?.version === version)
    return {
      reason: "window",
      version,
      message: `${version} waits for its window, which opens at ${next.at}`,
      hint: look,
    };
  if (rollout?.waiting_for === "approval")
    return {
      ...{ reason: "approval", version, message: `its next wave waits for approval${wavesText(rollout)}` },
      hint: `\`sealift rollout approve ${target}\` opens it.`,
    };
  return {
    ...{ reason: "wave", version },
    message: `this host's wave is not open yet${rollout === undefined ? "" : wavesText(rollout)}`,
    hint: look,
  };
}

function quarantineHint({ target, running }: Situation, held: NonNullable<Situation["held"]>): string {
  if (OF_THE_SIGNER.has(held.code)) return SIGNER_HINT;
  if (running === null) return whereNothingRuns(target, held.version);
  return `A newer version ends it, or \`sealift watch retry ${target}\`.`;
}

/** Returns why a host does not run the version that it may have. */
function ofTheHost(situation: Situation, version: string): Why {
  const { target, running, held, error, clockSeconds, withdrawn, heard } = situation;
  const as = (reason: WhyReason, message: string, hint?: string): Why => ({
    ...{ reason, version, message: unfinished(message) },
    ...(hint !== undefined && { hint }),
  });
  if (situation.deploying === true) return as("deploying", `${version} is being deployed`);
  if (situation.paused || held?.reason === "paused")
    return as("paused", "the target is paused", `\`sealift watch resume ${target}\` goes on.`);
  if (held?.reason === "quarantined")
    return as(
      OF_THE_SIGNER.has(held.code) ? "signer" : "quarantined",
      `${held.version} is in quarantine: ${held.message}`,
      quarantineHint(situation, held),
    );
  if (held?.reason === "downgrade") return as("downgrade", held.message, "--allow-downgrade follows it.");
  if (held?.reason === "rights") return as("rights", held.message, consentHint(target, held.version));
  if (held?.reason === "policy")
    return as("policy", held.message, policyHint({ target, version: held.version, isByKit: held.isByKit === true }));
  if (held?.reason === "application") return as("application", held.message, HOW_TO_ALLOW);
  if (held?.reason === "settings") return as("settings", held.message, HOW_TO_SET);
  if (withdrawn !== undefined && withdrawn !== null && withdrawn === running)
    return as("withdrawn", `${withdrawn} was taken back, and the host goes back at its next check`);
  if (clockSeconds !== undefined)
    return as(
      "clock",
      `the clocks of hub and host are ${counted(clockSeconds, "second")} apart`,
      "Set the clocks, for example with chrony.",
    );
  if (error !== undefined)
    return OF_THE_SIGNER.has(error.code)
      ? as("signer", `its signature was refused: ${error.message}`, SIGNER_HINT)
      : as(
          "failing",
          `the last try failed (${error.code}): ${error.message}`,
          `\`sealift history ${target}\` shows it.`,
        );
  if (heard === undefined)
    return as("unheard", "no watch runs here that would deploy it", `Start one: \`sealift watch ${target}\`.`);
  return as("unheard", `the watch has not heard of ${version} yet`, `\`sealift watch check ${target}\` asks now.`);
}

const because = (why: string | null): string => (why === null || why === "" ? "" : `: ${unfinished(why)}`);
/** Removes the full stop of a sentence, to continue or end another one with it. */
const unfinished = (text: string): string => text.replace(/\.$/, "");

const wavesText = ({ open, waves }: NonNullable<Situation["rollout"]>): string =>
  ` (${open} of ${counted(waves.length, "wave")} open)`;

/** Reasons that need attention: nobody has chosen them, and they do not end by themselves. */
const TROUBLES: ReadonlySet<WhyReason> = new Set([
  "unreachable",
  "quarantined",
  "downgrade",
  "rights",
  "policy",
  "application",
  "settings",
  "clock",
  "signer",
  "failing",
  "unheard",
]);
export const isTrouble = ({ reason }: Why): boolean => TROUBLES.has(reason);

/** Formats the answer as one line: `plugin:tides runs 1.0.0 and not 1.1.0: it is pinned to 1.0.0.` */
export function whyLine({ target, running }: Pick<Situation, "target" | "running">, why: Why): string {
  const runs = running === null ? "runs nothing" : `runs ${running}`;
  if (why.reason === "newest") return `${target} ${runs}, ${why.message}.`;
  return `${target} ${runs}${why.version === null ? "" : ` and not ${why.version}`}: ${why.message}.`;
}
