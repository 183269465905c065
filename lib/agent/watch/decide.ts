import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import { isDowngrade } from "../../contract/versions.ts";
import type { Hold } from "../../releases/holds.ts";
import { heldBack, type QuarantineEntry } from "../../releases/quarantine.ts";
import { notAllowed } from "../applications/not-allowed.ts";
import { policyError } from "../deployment/policy.ts";
import { consentHint } from "../deployment/rights.ts";
import type { HoldReason } from "./events.ts";

/** Latest version, as a hub states it. */
export interface Latest {
  /** Null while nothing is published. */
  version: string | null;
  /** Identity that distinguishes two artifacts of one version, if the hub states it before a download. */
  identity: string | null;
  /** Whether the detail record names its author's key. */
  isSigned?: boolean | undefined;
  /** Versions listed as yanked in the detail record. */
  yanked: readonly string[];
  /** Version that a rollout took back from this host. */
  withdrawn?: string | null | undefined;
  /** Version that this host gets when a rollout's window opens. */
  next?: string | null | undefined;
  /** Time of that opening, ISO 8601, when the hub is worth asking again. */
  nextAt?: string | null | undefined;
  /** Newest version of the trust root that the hub names; null or undefined for none. */
  rootVersion?: number | null | undefined;
  /** Counter of the settings that operators have uploaded for the project's hosts; null or undefined for none. */
  settingsVersion?: number | null | undefined;
  /** Time when the kit that brings it was made, ISO 8601; null or undefined without a kit. */
  kitMadeAt?: string | null | undefined;
}

export interface TargetFacts {
  running: string | null;
  latest: Latest;
  quarantine: readonly QuarantineEntry[];
  paused: boolean;
  /** Version that a person pinned, whatever is latest. */
  pin?: string | null;
  /** True when files of the running release are missing or were changed, as a power cut may leave them. */
  damaged: boolean;
  /** True when the latest version came with a kit that is newer than the one that this host has accepted. */
  isNewKit?: boolean;
  /** Versions that wait on this host for rights, a policy, a grant or settings. */
  holds?: readonly Omit<Hold, "again">[];
  /** Signers that this host accepts; a change of them ends an earlier refusal. */
  signers?: string | null | undefined;
  allowDowngrade: boolean;
  /** Versions that this host has run: only to them it goes down by itself. */
  ran: ReadonlySet<string>;
  /** Whether this host keeps a release to go back to. Default: true. */
  keepsEarlier?: boolean;
  /** Request of a person: a check applies the policy at once; the others also override quarantine, rights and pause. */
  asked?: "check" | "redeploy" | "retry" | undefined;
}

export type Decision =
  | { do: "nothing" }
  /** Go back to the release that this host keeps. */
  | { do: "go-back" }
  /** `rights`: those requested beyond the running release. `runsNothing`: the host has no version to run instead. */
  | {
      do: "hold";
      version: string;
      reason: HoldReason;
      message: string;
      rights?: readonly string[];
      runsNothing?: boolean;
    }
  /** `reinstall`: even if this very version runs. */
  | { do: "deploy"; version: string; reinstall: boolean };

/**
 * Says what to do where the only version that a host may have has failed, and none ran before: a hub gives a new host
 * the latest version and no other.
 */
export const whereNothingRuns = (target: string, version: string): string =>
  `Nothing runs here yet. Publish a newer version, yank ${version} (\`sealift version yank ${target} ${version}\`), ` +
  `or give this host an earlier one: \`sealift pin ${target} --version VERSION\`.`;

export const HOW_TO_SET =
  "`sealift settings apply` gives them to the fleet, and `sealift app env ID set NAME` to this host: the next check looks again.";

/** Versions that are held back for a reason that needs attention, as errors. */
export const HELD: Record<
  Exclude<HoldReason, "paused">,
  (message: string, of: { target: string; version: string; runsNothing: boolean; isByKit: boolean }) => SealiftError
> = {
  quarantined: (message, { target, version, runsNothing }) =>
    deploymentError("quarantined", message, {
      hint: runsNothing
        ? whereNothingRuns(target, version)
        : "Publish a newer version, or run `sealift watch retry TARGET`.",
    }),
  downgrade: (message) =>
    deploymentError("downgrade_refused", message, {
      hint: "Publish a higher version, deploy that one by hand, or give --allow-downgrade.",
    }),
  rights: (message, { target, version }) =>
    deploymentError("rights_held", message, { hint: consentHint(target, version) }),
  policy: policyError,
  application: (message) => notAllowed(message),
  settings: (message) => deploymentError("env_missing", message, { hint: HOW_TO_SET }),
};

/** Tells whether a version is held until others give what no hint may tell, such as a statement or settings. */
export const waitsForOthers = (held: HoldReason | null): boolean => held === "policy" || held === "settings";

/** Tells whether another kit than the refused one brings a version: it may say something else of it. */
const isOfAnotherKit = ({ reason, kitMadeAt }: Pick<Hold, "reason" | "kitMadeAt">, latest: Latest): boolean =>
  reason === "policy" && (kitMadeAt ?? null) !== (latest.kitMadeAt ?? null);

/** Tells whether two identities may be the same bytes; unknown ones may be. */
const sameBytes = (a: string | null, b: string | null): boolean => a === null || b === null || a === b;

/**
 * Decides about the latest version (docs/contract/host.md), or the pinned one. Follows every change, except a
 * quarantined version unless a person asks, and a lower one, which is followed only when the running one is yanked or
 * taken back and this host has run the lower one before, or when `allowDowngrade` is set. From a version that a rollout
 * took back it goes back to what this host keeps, if it keeps anything.
 */
export function decideDeployment(facts: TargetFacts): Decision {
  const {
    running,
    latest,
    quarantine,
    paused,
    pin = null,
    damaged,
    isNewKit = false,
    holds: known = [],
    signers,
    allowDowngrade,
    ran,
    keepsEarlier = true,
    asked,
  } = facts;
  const version = pin ?? latest.version;
  const holds = known.filter((hold) => !isOfAnotherKit(hold, latest));
  const isForced = asked === "redeploy" || asked === "retry";
  if (version === null) return { do: "nothing" };
  const identity = pin === null ? latest.identity : null;
  const before = heldBack(quarantine, {
    version,
    identity,
    isSigned: pin === null && latest.isSigned === true,
    signers,
  });
  if (running === version) {
    const isFree = !paused && before === undefined;
    if (asked === "redeploy" || (damaged && isFree)) return { do: "deploy", version, reinstall: true };
    // The kit is verified and accepted, so that older ones are refused from then on. What runs stays.
    const isToAccept = isNewKit && isFree && pin === null && !holds.some((hold) => hold.version === version);
    return isToAccept ? { do: "deploy", version, reinstall: false } : { do: "nothing" };
  }
  const isTakenBack = pin === null && running !== null && latest.withdrawn === running;
  if (isTakenBack && keepsEarlier && !paused) return { do: "go-back" };
  if (pin === null && running !== null && isDowngrade(running, version) && !allowDowngrade) {
    const fate = isTakenBack ? "taken back" : latest.yanked.includes(running) ? "yanked" : undefined;
    const why =
      fate === undefined ? "which is not yanked" : `which was ${fate}, and this host has never run ${version}`;
    const message = `The latest version is ${version}, lower than the running ${running}, ${why}.`;
    if (fate === undefined || !ran.has(version)) return { do: "hold", version, reason: "downgrade", message };
  }
  if (before !== undefined && !isForced) {
    const runsNothing = running === null;
    return { do: "hold", version, reason: "quarantined", message: before.reason, ...(runsNothing && { runsNothing }) };
  }
  // A check looks again whether a version still waits, but consents to nothing.
  const waiting = holds.find(
    (hold) =>
      hold.version === version &&
      sameBytes(hold.identity, identity) &&
      !(hold.reason === "rights" ? isForced : asked !== undefined),
  );
  if (waiting !== undefined) {
    const { reason, message, rights } = waiting;
    return { do: "hold", version, reason, message, ...(rights && { rights }) };
  }
  if (paused && !isForced) {
    return { do: "hold", version, reason: "paused", message: `${version} waits: the target is paused.` };
  }
  return { do: "deploy", version, reinstall: false };
}
