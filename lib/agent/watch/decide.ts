import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import { isDowngrade } from "../../contract/versions.ts";
import type { HeldPolicy } from "../../releases/held-policy.ts";
import type { HeldRights } from "../../releases/held-rights.ts";
import { heldBack, type QuarantineEntry } from "../../releases/quarantine.ts";
import { policyError } from "../deployment/policy.ts";
import { consentHint, rightsMessage } from "../deployment/rights.ts";
import type { HoldReason } from "./events.ts";

/** The latest version, as a hub says it. */
export interface Latest {
  /** Null while nothing is published. */
  version: string | null;
  /** The identity that tells two artifacts of one version apart, when the hub says it before a download. */
  identity: string | null;
  /** Whether the detail record names its author's key. */
  isSigned?: boolean | undefined;
  /** Versions that the detail record calls yanked. */
  yanked: readonly string[];
  /** A version that a rollout took back from this host. */
  withdrawn?: string | null | undefined;
  /** The version that this host gets when a rollout's window opens. */
  next?: string | null | undefined;
  /** When that is, ISO 8601: then there is something to ask for. */
  nextAt?: string | null | undefined;
}

export interface TargetFacts {
  running: string | null;
  latest: Latest;
  quarantine: readonly QuarantineEntry[];
  paused: boolean;
  /** The version that a person wants to be kept, whatever is latest. */
  pin?: string | null;
  /** True when files of the running release are missing or were changed, as a power cut may leave them. */
  damaged: boolean;
  /** The version that asks for more rights than the running one, while nobody has consented. */
  rights?: HeldRights | undefined;
  /** The version that does not meet this host's policy, until it is looked at again. */
  policy?: Pick<HeldPolicy, "version" | "identity" | "message"> | undefined;
  /** The signers that this host accepts, by which an earlier refusal is over. */
  signers?: string | null | undefined;
  allowDowngrade: boolean;
  /** Versions that this host has run: only to them it goes down by itself. */
  ran: ReadonlySet<string>;
  /** The request of a person: a check asks the policy at once, the others also go past quarantine, rights and pause. */
  asked?: "check" | "redeploy" | "retry" | undefined;
}

export type Decision =
  | { do: "nothing" }
  /** Go back to the release that this host keeps. */
  | { do: "go-back" }
  /** `rights`: what is asked for beyond the running release. */
  | { do: "hold"; version: string; reason: HoldReason; message: string; rights?: readonly string[] }
  /** `reinstall`: even if this very version runs. */
  | { do: "deploy"; version: string; reinstall: boolean };

/** Versions that are held back for a reason that somebody should look at, as errors. */
export const HELD: Record<
  Exclude<HoldReason, "paused">,
  (message: string, of: { target: string; version: string }) => SealiftError
> = {
  quarantined: (message) =>
    deploymentError("quarantined", message, { hint: "Publish a newer version, or run `sealift watch retry TARGET`." }),
  downgrade: (message) =>
    deploymentError("downgrade_refused", message, {
      hint: "Publish a higher version, deploy that one by hand, or give --allow-downgrade.",
    }),
  rights: (message, { target, version }) =>
    deploymentError("rights_held", message, { hint: consentHint(target, version) }),
  policy: policyError,
};

/** Bytes that are not known may be the same ones. */
const sameBytes = (a: string | null, b: string | null): boolean => a === null || b === null || a === b;

/**
 * Decides about the latest version (docs/contract/host.md), or the pinned one, which a person has chosen: follow every
 * change, but a lower one only when the running one is yanked and this host has run the lower one before, or when
 * `allowDowngrade` says so, and none that is in quarantine unless a person asks. From a version that a rollout took
 * back it goes back to what this host keeps.
 */
export function decide(facts: TargetFacts): Decision {
  const {
    running,
    latest,
    quarantine,
    paused,
    pin = null,
    damaged,
    rights,
    policy,
    signers,
    allowDowngrade,
    ran,
    asked,
  } = facts;
  const version = pin ?? latest.version;
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
    const anew = asked === "redeploy" || (damaged && !paused && before === undefined);
    return anew ? { do: "deploy", version, reinstall: true } : { do: "nothing" };
  }
  if (pin === null && running !== null && latest.withdrawn === running && !paused) return { do: "go-back" };
  if (pin === null && running !== null && isDowngrade(running, version) && !allowDowngrade) {
    const isYanked = latest.yanked.includes(running);
    const why = isYanked ? `which was yanked, and this host has never run ${version}` : "which is not yanked";
    const message = `The latest version is ${version}, lower than the running ${running}, ${why}.`;
    if (!isYanked || !ran.has(version)) return { do: "hold", version, reason: "downgrade", message };
  }
  if (before !== undefined && !isForced) {
    return { do: "hold", version, reason: "quarantined", message: before.reason };
  }
  if (rights?.version === version && sameBytes(rights.identity, identity) && !isForced) {
    return { do: "hold", version, reason: "rights", message: rightsMessage(rights), rights: rights.rights };
  }
  if (policy?.version === version && sameBytes(policy.identity, identity) && asked === undefined) {
    return { do: "hold", version, reason: "policy", message: policy.message };
  }
  if (paused && !isForced) {
    return { do: "hold", version, reason: "paused", message: `${version} waits: the target is paused.` };
  }
  return { do: "deploy", version, reinstall: false };
}
