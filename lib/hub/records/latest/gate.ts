/** Versions of a gate; those beyond are answered as if they were not kept. */
const MAX_VERSIONS = 1000;

/**
 * Rights of hosts to the versions of a target, as JSON in its row: what a poll needs beside the latest open version.
 * Null there means that every host gets the same answer.
 */
export interface StoredGate {
  /** Published, unyanked versions that are not open and rank above the latest open one, best first. */
  above: { version: string; rolling?: true; taken_back?: true }[];
  /** Terms of the rolling version; left out without one. */
  rolling?: RollingTerms;
}

interface RollingTerms {
  /** Places hosts in waves. */
  id: string;
  /** False while it is paused. */
  running: boolean;
  waves: readonly string[];
  /** Waves that are open: the first ones. */
  open: number;
  window: string | null;
  /** Hosts with a later first change are new: they are in the last wave. */
  known: number;
  /** Whether only hosts count whose keys speak for them alone. */
  only_bound: boolean;
}

/** A version on its way to the hosts of a target. */
export interface RollingVersion extends RollingTerms {
  version: string;
}

/** A version that ranks above the latest open one. */
export interface AboveVersion {
  version: string;
  state: "rolling" | "held";
  is_taken_back: number;
}

/** Writes a gate. @param above best first */
export function gateText(above: readonly AboveVersion[], rolling: RollingVersion | undefined): string | null {
  if (above.length === 0) return null;
  const gate: StoredGate = {
    above: above.slice(0, MAX_VERSIONS).map(({ version, state, is_taken_back: isTakenBack }) => ({
      version,
      ...(state === "rolling" && { rolling: true }),
      ...(Number(isTakenBack) !== 0 && { taken_back: true }),
    })),
  };
  if (rolling !== undefined && above.some(({ version, state }) => state === "rolling" && version === rolling.version)) {
    const { version: _, ...terms } = rolling;
    gate.rolling = terms;
  }
  return JSON.stringify(gate);
}
