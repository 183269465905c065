import { RuntimeFault } from "../guest/fault.ts";

/** Bodies by the number of their JSON values: a short text can hold so many that parsing it holds up every plugin. */

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** Length from which a text's end is looked for natively, in bytes: a call costs as much as reading a short text. */
const SHORT = 64;

/** Kinds of bytes. */
const [GAP, WORD, START] = [0, 1, 2];

/** Kinds by byte; those of characters beyond ASCII are parts of words. */
const KINDS = Uint8Array.from({ length: 256 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (code <= 0x20 || ",:]}".includes(character)) return GAP;
  return '"[{'.includes(character) ? START : WORD;
});

/**
 * Tells whether a text has more than `most` JSON values: objects, lists, texts (keys too), numbers and words. Builds
 * nothing, and reads no further than it has to. What it says of a text that is not JSON does not matter.
 *
 * @param bytes the text in UTF-8: bytes take half as long as the characters of a string
 */
export function hasMoreValues(bytes: Buffer, most: number): boolean {
  const end = bytes.length;
  let values = 0;
  let at = 0;
  while (at < end) {
    const kind = KINDS[bytes[at]!];
    if (kind !== GAP && ++values > most) return true;
    if (bytes[at] === QUOTE) at = endOfText(bytes, at);
    at++;
    // A loop for each: one loop that remembers what was before takes twice as long.
    if (kind === WORD) while (at < end && KINDS[bytes[at]!] === WORD) at++;
    else if (kind === GAP) while (at < end && KINDS[bytes[at]!] === GAP) at++;
  }
  return false;
}

/** Returns the place of the quote that ends a text; the end of everything where there is none. */
function endOfText(bytes: Buffer, from: number): number {
  const short = Math.min(from + SHORT, bytes.length);
  const at = endWithin(bytes, from + 1, short);
  if (at < short) return at;
  const quote = bytes.indexOf(QUOTE, at);
  return bytes[quote - 1] === BACKSLASH ? endWithin(bytes, at, bytes.length) : quote === -1 ? bytes.length : quote;
}

/** Returns the place of the first quote that no backslash precedes; `to`, or the place after it, without one. */
function endWithin(bytes: Buffer, from: number, to: number): number {
  let at = from;
  for (; at < to; at++) {
    const code = bytes[at];
    if (code === QUOTE) return at;
    // Whatever follows a backslash belongs to the text.
    if (code === BACKSLASH) at++;
  }
  return at;
}

/** Requires that a body has no more values than its plugin takes. @throws RuntimeFault `payload_too_complex` */
export function requireFewValues(bytes: Buffer, most: number): void {
  if (!hasMoreValues(bytes, most)) return;
  throw new RuntimeFault(
    "payload_too_complex",
    `The body has more than ${most} JSON values. The plugin's descriptor can raise the limit: runtime.max_body_values.`,
  );
}
