/** Bytes that are copied at most: many terminals ignore a longer sequence. */
const MAX_COPIED_BYTES = 48 * 1024;

/** Returns the sequence that copies a text to the terminal's clipboard (OSC 52), also over ssh. Long texts are cut. */
export function copying(text: string): string {
  const bytes = Buffer.from(text).subarray(0, MAX_COPIED_BYTES);
  return `\u001b]52;c;${bytes.toString("base64")}\u0007`;
}
