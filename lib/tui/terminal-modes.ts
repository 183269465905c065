/** Escape sequences for the mouse and for the clipboard of the terminal. */

/** Turns reports of clicks and the wheel on, in SGR form. Text can still be selected with Shift in most terminals. */
export const MOUSE_ON = "\u001b[?1000h\u001b[?1006h";
export const MOUSE_OFF = "\u001b[?1006l\u001b[?1000l";

/** Bytes that are copied at most: many terminals ignore a longer sequence. */
const MAX_COPIED_BYTES = 48 * 1024;

/** Returns the sequence that copies a text to the terminal's clipboard (OSC 52), also over ssh. Long texts are cut. */
export function copying(text: string): string {
  const bytes = Buffer.from(text).subarray(0, MAX_COPIED_BYTES);
  return `\u001b]52;c;${bytes.toString("base64")}\u0007`;
}
