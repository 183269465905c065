import { RuntimeFault } from "../guest/fault.ts";

/** Bodies by the number of their JSON values: a short text can hold so many that parsing it holds up every plugin. */

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** Kinds of characters. */
const [GAP, WORD, START] = [0, 1, 2];

/** Kinds by character; those beyond are parts of words. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (code <= 0x20 || ",:]}".includes(character)) return GAP;
  return '"[{'.includes(character) ? START : WORD;
});

/**
 * Tells whether a text has more than `most` JSON values: objects, lists, texts (keys too), numbers and words. Builds
 * nothing, and reads no further than it has to. What it says of a text that is not JSON does not matter.
 */
export function hasMoreValues(text: string, most: number): boolean {
  let values = 0;
  let before: number = GAP;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Most of a long number; the table is slower.
    if (before === WORD && code >= 0x30 && code <= 0x39) continue;
    const kind: number = code < 128 ? KINDS[code]! : WORD;
    if (kind === START || (kind === WORD && before !== WORD)) {
      if (++values > most) return true;
      if (code === QUOTE) at = endOfText(text, at);
    }
    before = kind;
  }
  return false;
}

/** Returns the place of the quote that ends a text; the end of everything where there is none. */
function endOfText(text: string, from: number): number {
  const quote = text.indexOf('"', from + 1);
  if (quote === -1) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    // Whatever follows a backslash belongs to the text.
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

/** Requires that a body has no more values than its plugin takes. @throws RuntimeFault `payload_too_complex` */
export function requireFewValues(text: string, most: number): void {
  if (!hasMoreValues(text, most)) return;
  throw new RuntimeFault(
    "payload_too_complex",
    `The body has more than ${most} JSON values. The plugin's descriptor can raise the limit: runtime.max_body_values.`,
  );
}
