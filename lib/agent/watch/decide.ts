import { isDowngrade } from "../../contract/versions.ts";
import { heldBack, type QuarantineEntry } from "../../releases/quarantine.ts";
import type { HoldReason } from "./events.ts";

/** What a hub says is the latest version. */
export interface Latest {
  /** Null while nothing is published. */
  version: string | null;
  /** What tells two artifacts of one version apart, when the hub says it before a download. */
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
  allowDowngrade: boolean;
  /** What a person has asked for: it goes past quarantine and pause. */
  asked?: "redeploy" | "retry" | undefined;
}

export type Decision =
  | { do: "nothing" }
  | { do: "hold"; version: string; reason: HoldReason; message: string }
  /** `reinstall`: even if this very version runs. */
  | { do: "deploy"; version: string; reinstall: boolean };

/**
 * What to do about the latest version (docs/contract/host.md), or the pinned one, which a person has chosen: follow every change, but a lower one only when the running one is yanked or
 * `allowDowngrade` says so, and none that is in quarantine unless a person asks.
 */
export function decide({ running, latest, quarantine, paused, pin = null, allowDowngrade, asked }: Facts): Decision {
  const version = pin ?? latest.version;
  if (version === null) return { do: "nothing" };
  if (running === version) {
    return asked === "redeploy" ? { do: "deploy", version, reinstall: true } : { do: "nothing" };
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
  const before = heldBack(quarantine, version, pin === null ? latest.identity : null);
  if (before !== undefined && asked === undefined) {
    return { do: "hold", version, reason: "quarantined", message: before.reason };
  }
  if (paused && asked === undefined) {
    return { do: "hold", version, reason: "paused", message: `${version} waits: the target is paused.` };
  }
  return { do: "deploy", version, reinstall: false };
}
