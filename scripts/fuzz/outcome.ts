/** Kinds of input that others write, by the ending of a kept case. */
export const KINDS = ["tar", "zip", "yaml", "json", "frames"] as const;
export type Kind = (typeof KINDS)[number];

/** One input that the product treats as it should not. */
export interface Finding {
  kind: Kind;
  /** Makes the case again. */
  seed: number;
  why: string;
  bytes: Buffer;
}

export interface Outcome {
  cases: number;
  /** Inputs that were taken; the others were refused. */
  accepted: number;
  found: Finding[];
}

/** Returns why an input is treated as it should not be; otherwise whether it was taken. */
export type Verdict = { accepted: boolean } | { why: string };

/** The cases to make: so many, from the seeds `seed`, `seed` + 1 and so on. */
export interface Cases {
  count: number;
  seed: number;
  onFound?: (finding: Finding) => void;
  /** Called after each case, with the outcome so far. */
  onCase?: (soFar: Outcome) => void;
}

/**
 * Judges many inputs, each made from a seed of its own, and gathers those that are treated as they should not be.
 *
 * @param judge makes one case and treats it
 */
export async function fuzzEach(
  { count, seed, onFound, onCase }: Cases,
  judge: (seed: number) => Promise<Verdict & { kind: Kind; bytes: Buffer }>,
): Promise<Outcome> {
  const outcome: Outcome = { cases: 0, accepted: 0, found: [] };
  for (let at = seed; at < seed + count; at++) {
    const { kind, bytes, ...verdict } = await judge(at);
    outcome.cases++;
    if ("why" in verdict) {
      const finding = { kind, seed: at, why: verdict.why, bytes };
      outcome.found.push(finding);
      onFound?.(finding);
    } else if (verdict.accepted) outcome.accepted++;
    onCase?.(outcome);
  }
  return outcome;
}
