import { type DocumentLimits, JSON_LIMITS, parseJson } from "./limits.ts";

/**
 * Parses JSON that somebody has signed, within limits. No object may have a key twice: readers differ in which of the
 * values counts, so a signature would stand for two documents.
 *
 * @throws SyntaxError for a text that is no JSON, exceeds a limit, or has a key twice
 */
export function parseSignedJson(text: string, limits: DocumentLimits = JSON_LIMITS): unknown {
  const value = parseJson(text, limits);
  const twice = keyStatedTwice(text);
  if (twice !== undefined) throw new SyntaxError(`the key ${JSON.stringify(twice)} stands there twice`);
  return value;
}

/** Matches the strings of a valid JSON text, a colon behind them that makes them keys, and the ends of containers. */
const TOKEN = /"((?:[^"\\]|\\.)*)"([ \t\r\n]*:)?|[{}[\]]/gs;

/** Returns a key that an object of a valid JSON text has twice, however it is escaped. Linear in its length. */
function keyStatedTwice(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, written, colon] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (colon !== undefined) {
      const key = written!.includes("\\") ? (JSON.parse(`"${written}"`) as string) : written!;
      const keys = open.at(-1)!;
      if (keys.has(key)) return key;
      keys.add(key);
    }
  }
  return undefined;
}

/**
 * Returns a number of a valid JSON text that is not written as a whole number, digit by digit: readers differ in what
 * `1e0` and `0.99999999999999999999` are. Undefined where there is none. Linear in the text's length.
 */
export function roundedNumber(text: string): string | undefined {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gs))
    if (!token.startsWith('"') && !/^-?(?:0|[1-9]\d*)$/.test(token)) return token;
  return undefined;
}
