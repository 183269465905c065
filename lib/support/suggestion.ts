import { distance } from "fastest-levenshtein";

/**
 * Returns the known word that was probably meant: fewer than half of its letters are wrong.
 *
 * @param most most wrong letters of a known word. Default: 4
 */
export function closestTo(
  word: string,
  known: Iterable<string>,
  most: (candidate: string) => number = () => 4,
): string | undefined {
  let best: { candidate: string; wrong: number } | undefined;
  for (const candidate of known) {
    const wrong = distance(word, candidate);
    const allowed = Math.min(most(candidate), Math.round(Math.max(word.length, candidate.length) * 0.4));
    if (wrong <= allowed && (best === undefined || wrong < best.wrong)) best = { candidate, wrong };
  }
  return best?.candidate;
}
