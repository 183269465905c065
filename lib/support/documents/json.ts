import { type DocumentLimits, excessOfJson, JSON_LIMITS } from "./limits.ts";

/**
 * Parses JSON that somebody else wrote, within limits.
 *
 * @throws SyntaxError for a text that is no JSON or goes past a limit
 */
export function parseJson(text: string, limits: DocumentLimits = JSON_LIMITS): unknown {
  const excess = excessOfJson(text, limits);
  if (excess !== undefined) throw new SyntaxError(excess);
  return JSON.parse(text);
}
