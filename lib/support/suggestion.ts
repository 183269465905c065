import { distance } from "fastest-levenshtein";

/** Returns the known word that was probably meant: fewer than half of its letters are wrong. */
export function closestTo(word: string, known: Iterable<string>): string | undefined {
  let best: { candidate: string; wrong: number } | undefined;
  for (const candidate of known) {
    const wrong = distance(word, candidate);
    const allowed = Math.min(4, Math.round(Math.max(word.length, candidate.length) * 0.4));
    if (wrong <= allowed && (best === undefined || wrong < best.wrong)) best = { candidate, wrong };
  }
  return best?.candidate;
}
