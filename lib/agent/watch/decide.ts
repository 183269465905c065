import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import { isDowngrade } from "../../contract/versions.ts";
import { heldBack, type QuarantineEntry } from "../../releases/quarantine.ts";
import type { HoldReason } from "./events.ts";

/** The latest version, as a hub says it. */
export interface Latest {
  /** Null while nothing is published. */
  version: string | null;
  /** The identity that tells two artifacts of one version apart, when the hub says it before a download. */
  identity: string | null;
  /** Versions that the detail record calls yanked. */
  yanked: readonly string[];
}

export interface Facts {
  running: string | null;
  latest: Latest;
  quarantine: readonly QuarantineEntry[];
  paused: boolean;
  /** The version that a person wants to be kept, whatever is latest. */
  pin?: string | null;
  /** True when files of the running release are missing or were changed, as a power cut may leave them. */
  damaged: boolean;
  allowDowngrade: boolean;
  /** The request of a person: it goes past quarantine and pause. */
  asked?: "redeploy" | "retry" | undefined;
}

export type Decision =
  | { do: "nothing" }
  | { do: "hold"; version: string; reason: HoldReason; message: string }
  /** `reinstall`: even if this very version runs. */
  | { do: "deploy"; version: string; reinstall: boolean };

/** Versions that are held back for a reason that somebody should look at, as errors. */
export const HELD: Record<Exclude<HoldReason, "paused">, (message: string) => SealiftError> = {
  quarantined: (message) =>
    deploymentError("quarantined", message, { hint: "Publish a newer version, or run `sealift watch retry TARGET`." }),
  downgrade: (message) =>
    deploymentError("downgrade_refused", message, { hint: "Yank the running version, or give --allow-downgrade." }),
};

/**
 * What to do about the latest version (docs/contract/host.md), or the pinned one, which a person has chosen: follow every change, but a lower one only when the running one is yanked or
 * `allowDowngrade` says so, and none that is in quarantine unless a person asks.
 */
export function decide(facts: Facts): Decision {
  const { running, latest, quarantine, paused, pin = null, damaged, allowDowngrade, asked } = facts;
  const version = pin ?? latest.version;
  if (version === null) return { do: "nothing" };
  const before = heldBack(quarantine, version, pin === null ? latest.identity : null);
  if (running === version) {
    const anew = asked === "redeploy" || (damaged && !paused && before === undefined);
    return anew ? { do: "deploy", version, reinstall: true } : { do: "nothing" };
  }
  if (
    pin === null &&
    running !== null &&
    isDowngrade(running, version) &&
    !allowDowngrade &&
    !latest.yanked.includes(running)
  ) {
    const message = `The latest version is ${version}, lower than the running ${running}, which is not yanked.`;
    return { do: "hold", version, reason: "downgrade", message };
  }
  if (before !== undefined && asked === undefined) {
    return { do: "hold", version, reason: "quarantined", message: before.reason };
  }
  if (paused && asked === undefined) {
    return { do: "hold", version, reason: "paused", message: `${version} waits: the target is paused.` };
  }
  return { do: "deploy", version, reinstall: false };
}
