/** Most versions in a gate; hosts on a version beyond that are answered as if they did not run it. */
const MAX_VERSIONS = 1000;

/**
 * Rights of hosts to the versions of a target, as JSON in its row: what a poll needs beyond the latest open version.
 * Null means that every host gets the same answer.
 */
export interface StoredGate {
  /**
   * Versions that are not open and rank above the latest open one, best first. A yanked or deleted one is taken back.
   */
  above: { version: string; rolling?: true; taken_back?: true }[];
  /** Terms of the rolling version; omitted without one. */
  rolling?: RollingTerms;
}

interface RollingTerms {
  /** Seed that places hosts in waves. */
  id: string;
  /** False while it is paused. */
  running: boolean;
  waves: readonly string[];
  /** Number of open waves, counted from the first. */
  open: number;
  window: string | null;
  /** Hosts with a later first change are new, and in the last wave. */
  known: number;
  /** Whether only hosts count whose keys speak for them alone. */
  only_bound: boolean;
}

/** Version being rolled out to the hosts of a target. */
export interface RollingVersion extends RollingTerms {
  version: string;
}

/** Version that ranks above the latest open one. */
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
