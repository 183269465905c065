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

/**
 * Judges many inputs, each made from a seed of its own, and gathers those that are treated as they should not be.
 *
 * @param judge makes one case and treats it
 */
export async function fuzzEach(
  cases: number,
  seed: number,
  judge: (seed: number) => Promise<Verdict & { kind: Kind; bytes: Buffer }>,
): Promise<Outcome> {
  const outcome: Outcome = { cases, accepted: 0, found: [] };
  for (let at = seed; at < seed + cases; at++) {
    const { kind, bytes, ...verdict } = await judge(at);
    if ("why" in verdict) outcome.found.push({ kind, seed: at, why: verdict.why, bytes });
    else if (verdict.accepted) outcome.accepted++;
  }
  return outcome;
}
