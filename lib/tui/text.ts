import cliTruncate from "cli-truncate";
import stringWidth from "string-width";
import { clock, day } from "../support/local-time.ts";
import { printable } from "../support/printable.ts";

/** Matches ASCII and the dashboard's own symbols, which take one column each on any terminal. */
const PLAIN = /^[\x20-\x7e█▉▊▋▌▍▎▏▁▂▃▄▅▆▇░─✓✗▸·›↶→…–●]*$/;

/** Returns the columns that a text takes on a terminal. */
export const widthOf = (text: string): number => (PLAIN.test(text) ? text.length : stringWidth(text));

/** Fits a text to exactly `width` columns: cut with …, or padded with spaces. */
export function fit(text: string, width: number): string {
  if (width <= 0) return "";
  if (PLAIN.test(text)) return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
  const safe = printable(text);
  const shown = stringWidth(safe) > width ? cliTruncate(safe, width) : safe;
  return shown + " ".repeat(Math.max(0, width - stringWidth(shown)));
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Draws a bar of `width` columns. @param fraction from 0 to 1 */
export function bar(fraction: number, width: number, empty = "░"): string {
  const eighths = Math.round(Math.min(1, Math.max(0, fraction)) * width * 8);
  const part = EIGHTHS[eighths % 8]!;
  const full = "█".repeat(Math.floor(eighths / 8)) + part;
  return full + empty.repeat(Math.max(0, width - full.length));
}

const LEVELS = "▁▂▃▄▅▆▇█";

/** Draws a small chart of numbers, one column each; the largest is as high as the line. */
export function spark(values: readonly number[]): string {
  const most = Math.max(...values, 1);
  return values.map((value) => LEVELS[Math.round((Math.max(0, value) / most) * (LEVELS.length - 1))]).join("");
}

/** Draws numbers as columns. Zero is blank, and every other number is visible. @param most value of a full column */
export const barChart = (values: readonly number[], most: number): string =>
  values
    .map((value) => (value <= 0 ? " " : LEVELS[Math.max(0, Math.ceil((value / most) * LEVELS.length) - 1)]))
    .join("");

/** Formats `62 %`, right-aligned in five columns. */
export const percent = (fraction: number): string => `${Math.floor(fraction * 100)} %`.padStart(5);

/** Formats a duration for people: `45 ms`, `2.4 s`, `3 m 20 s`, `2 h 5 m`, `3 d 4 h`. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} m` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Formats the time of day, with the date if that differs from `now`'s. The header states the zone. */
export const moment = (at: number, now: number): string =>
  day(at) === day(now) ? clock(at) : `${day(at)} ${clock(at).slice(0, 5)}`;

/** Formats a whole number with thousands separated: `100,000`. */
export const formatCount = (value: number): string => value.toLocaleString("en-US");

/**
 * Breaks a text into lines of at most `width` columns, at spaces if there are any. Keeps the text's own line breaks.
 */
export function wrap(text: string, width: number): string[] {
  if (width <= 0) return [];
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line = "";
    for (const word of paragraph.split(" ").flatMap((long) => pieces(long, width))) {
      const longer = line === "" ? word : `${line} ${word}`;
      if (widthOf(longer) <= width) line = longer;
      else {
        lines.push(line);
        line = word;
      }
    }
    return [...lines, line];
  });
}

/** Splits a word into pieces that fit: digests, URLs and paths have no spaces. Paths break after a slash. */
export function pieces(word: string, width: number): string[] {
  if (widthOf(word) <= width) return [word];
  const found: string[] = [];
  let piece = "";
  for (const { segment } of SEGMENTER.segment(word)) {
    if (widthOf(piece + segment) > width && piece !== "") {
      const slash = piece.lastIndexOf("/") + 1;
      const cut = slash > piece.length / 2 ? slash : piece.length;
      found.push(piece.slice(0, cut));
      piece = piece.slice(cut);
    }
    piece += segment;
  }
  return [...found, piece];
}

const SEGMENTER = new Intl.Segmenter();

/** Most bytes copied to the clipboard: many terminals ignore a longer sequence. */
const MAX_COPIED_BYTES = 48 * 1024;

/** Returns the sequence that copies a text to the terminal's clipboard (OSC 52), also over ssh. Long texts are cut. */
export function copying(text: string): string {
  const bytes = Buffer.from(text).subarray(0, MAX_COPIED_BYTES);
  return `\u001b]52;c;${bytes.toString("base64")}\u0007`;
}
