import type { Trouble } from "../hub/door.ts";

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A hub that fails at random: about every fifth request, in every way. `met` counts them by kind. */
export function chaos(random: () => number): { trouble: () => Trouble; met: Map<string, number> } {
  const met = new Map<string, number>();
  const pick = (): Trouble => {
    const chance = random();
    if (chance < 0.04) return { kind: "lost", heard: false };
    if (chance < 0.08) return { kind: "lost", heard: true };
    if (chance < 0.11) return { kind: "answer", status: random() < 0.5 ? 500 : 503 };
    if (chance < 0.13) return { kind: "answer", status: 429, retryAfter: 1 };
    if (chance < 0.18) return { kind: "truncated" };
    if (chance < 0.28) return { kind: "delayed", ms: Math.round(200 * random()) };
    return { kind: "none" };
  };
  return {
    met,
    trouble: () => {
      const trouble = pick();
      met.set(trouble.kind, (met.get(trouble.kind) ?? 0) + 1);
      return trouble;
    },
  };
}
