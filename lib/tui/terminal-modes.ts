/** Sequences beyond the picture: the mouse, and the clipboard of the terminal that a person sits at. */

/** Presses and the wheel, in SGR form. Shift still selects text in most terminals. */
export const MOUSE_ON = "\u001b[?1000h\u001b[?1006h";
export const MOUSE_OFF = "\u001b[?1006l\u001b[?1000l";

/** Bytes that terminals take at once, with some room. */
const MAX_COPIED_BYTES = 48 * 1024;

/** Returns what puts a text into the terminal's clipboard (OSC 52), also over ssh. What is too long is cut. */
export function copying(text: string): string {
  const bytes = Buffer.from(text).subarray(0, MAX_COPIED_BYTES);
  return `\u001b]52;c;${bytes.toString("base64")}\u0007`;
}
