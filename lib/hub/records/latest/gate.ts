import type { RolloutsTable } from "../rollout-tables.ts";
import { rulesOf, standingOf } from "../rollouts.ts";

/** Versions of a gate; those beyond are answered as if they were not kept. */
const MAX_VERSIONS = 1000;

/**
 * Rights of hosts to the versions of a target, as JSON in its row: what a poll needs beside the latest open version.
 * Null there means that every host gets the same answer.
 */
export interface StoredGate {
  /** Published, unyanked versions that are not open and rank above the latest open one, best first. */
  above: { version: string; rolling?: true; taken_back?: true }[];
  /** The rollout of the version that rolls; left out without one. */
  rollout?: {
    id: string;
    /** False while it is paused. */
    running: boolean;
    waves: string[];
    /** Waves that are open: the first ones. */
    open: number;
    window: string | null;
    /** Hosts with a later first change are new: they are in the last wave. */
    known: number;
  };
}

/** A version that ranks above the latest open one. */
export interface AboveVersion {
  version: string;
  state: "rolling" | "held";
  is_taken_back: number;
}

/** Writes a gate. @param above best first @param live the target's live rollout */
export function gateText(above: readonly AboveVersion[], live: RolloutsTable | undefined): string | null {
  if (above.length === 0) return null;
  const gate: StoredGate = {
    above: above.slice(0, MAX_VERSIONS).map(({ version, state, is_taken_back: isTakenBack }) => ({
      version,
      ...(state === "rolling" && { rolling: true }),
      ...(Number(isTakenBack) !== 0 && { taken_back: true }),
    })),
  };
  if (live !== undefined && above.some(({ version, state }) => state === "rolling" && version === live.version)) {
    const { waves, window } = rulesOf(live);
    const { open } = standingOf(live);
    const running = live.state === "running";
    gate.rollout = { id: live.id, running, waves, open, window, known: Number(live.known_changes) };
  }
  return JSON.stringify(gate);
}
