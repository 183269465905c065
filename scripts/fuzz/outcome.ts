import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Most memory that one case may take, beyond what the process already has, in MB. */
const MAX_CASE_MB = 200;
/** Cases between garbage collections: the garbage of many cases would hide one that takes much. */
const CASES_BETWEEN_COLLECTIONS = 50;

/** Kinds of foreign input, by the extension of a kept case. */
export const KINDS = ["tar", "zip", "yaml", "json", "frames"] as const;
export type Kind = (typeof KINDS)[number];

/** Input that the product handles wrongly. */
export interface Finding {
  kind: Kind;
  /** Makes the case again. */
  seed: number;
  why: string;
  bytes: Buffer;
}

export interface Outcome {
  cases: number;
  /** Inputs that were accepted; the others were rejected. */
  accepted: number;
  found: Finding[];
}

/** Reason why an input is handled wrongly; otherwise whether it was accepted. */
export type Verdict = { accepted: boolean } | { why: string };

/** Number of cases to make, and the first seed; the others follow it. */
export interface Cases {
  count: number;
  seed: number;
  onFound?: (finding: Finding) => void;
  /** Called after each case, with the outcome so far. */
  onCase?: (soFar: Outcome) => void;
}

const megabytes = (bytes: number): number => Math.round(bytes / 1024 / 1024);

/** Collects garbage. */
function collect(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/**
 * Judges many inputs, each made from a seed of its own, and collects those that are handled wrongly, or take much
 * memory.
 *
 * @param judge makes one case and handles it
 */
export async function fuzzEach(
  { count, seed, onFound, onCase }: Cases,
  judge: (seed: number) => Promise<Verdict & { kind: Kind; bytes: Buffer }>,
): Promise<Outcome> {
  const outcome: Outcome = { cases: 0, accepted: 0, found: [] };
  for (let at = seed; at < seed + count; at++) {
    if (outcome.cases % CASES_BETWEEN_COLLECTIONS === 0) collect();
    const before = { now: process.memoryUsage.rss(), peak: process.resourceUsage().maxRSS * 1024 };
    const { kind, bytes, ...verdict } = await judge(at);
    outcome.cases++;
    const peak = process.resourceUsage().maxRSS * 1024;
    const takenMb = peak > before.peak ? megabytes(peak - before.now) : 0;
    const why = "why" in verdict ? verdict.why : takenMb > MAX_CASE_MB ? `it takes ${takenMb} MB` : undefined;
    if (why !== undefined) {
      const finding = { kind, seed: at, why, bytes };
      outcome.found.push(finding);
      onFound?.(finding);
    } else if ("accepted" in verdict && verdict.accepted) outcome.accepted++;
    onCase?.(outcome);
  }
  return outcome;
}
