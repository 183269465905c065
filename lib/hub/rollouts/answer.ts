import type { RolloutState } from "../../contract/surfaces/rollouts.ts";
import { type HostName, waveOf, type Waves } from "./waves.ts";
import { isOpenAt, nextOpening, type Window } from "./window.ts";

/** The part of a target's rollout that its answers to "latest" need. */
export interface Gate {
  id: string;
  version: string;
  /** The version for hosts that may not have the new one; null when no other is published. */
  base: string | null;
  state: Exclude<RolloutState, "completed" | "replaced">;
  waves: Waves;
  open: number;
  window: Window | undefined;
  /** Whether the hosts that took the version go back: by the rule for halts, or by an abort. */
  isWithdrawn: boolean;
}

/** The answer to a host that asks for the latest version. */
export interface HostAnswer {
  version: string | null;
  /** The version that it gets in the window, and not before it opens. */
  next?: { version: string; notBefore: number };
  /** The version that was taken back from it. */
  withdrawn?: string;
}

/**
 * Answers a host: the new version where its wave is open, else the one before. A host that runs the new version already
 * hears of no other, unless that was taken back. What a host says of itself chooses its wave, and nothing else.
 *
 * @param latest the newest version, whatever the rollout
 * @param host with whether it runs the version, as far as the hub knows
 */
export function answerTo(
  gate: Gate,
  latest: string | null,
  host: HostName & { runsIt: boolean },
  now: number,
): HostAnswer {
  const { version, base, state } = gate;
  // An aborted rollout keeps its version back, and nothing else.
  if (state === "aborted" && latest !== version) return { version: latest };
  if (gate.isWithdrawn) return { version: base, withdrawn: version };
  if (host.runsIt) return { version };
  if (state !== "running") return { version: base };
  const wave = waveOf(gate.id, gate.waves, host);
  if (wave < gate.open && isOpenAt(gate.window, now)) return { version };
  // A host of the next wave may fetch the version before that opens, once it is published.
  const isNear = wave < gate.open || (wave === gate.open && (gate.open > 0 || latest === version));
  if (gate.window === undefined || !isNear) return { version: base };
  return { version: base, next: { version, notBefore: nextOpening(gate.window, now).from } };
}
