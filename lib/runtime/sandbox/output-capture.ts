import type { Readable } from "node:stream";
import { LineCutter } from "../../support/lines.ts";

/** Longest line, in characters; a longer one is cut. */
const MAX_LINE_CHARACTERS = 8 * 1024;
/** Most bytes per second; beyond that the plugin waits, as with a slow pipe. */
const MAX_BYTES_PER_SECOND = 8 * 1024 * 1024;

/** Passes a stream on line by line, without empty lines, holding one line at most. */
export function captureOutput(stream: Readable, onLine: (line: string) => void): void {
  const cutter = new LineCutter(MAX_LINE_CHARACTERS, "…");
  let bytes = 0;
  let second: NodeJS.Timeout | undefined;
  const nextSecond = (): void => {
    second = undefined;
    bytes = 0;
    stream.resume();
  };
  const tell = (lines: readonly string[]): void => lines.filter((line) => line !== "").forEach(onLine);
  stream.on("data", (chunk: Buffer) => {
    second ??= setTimeout(nextSecond, 1000).unref();
    bytes += chunk.length;
    if (bytes > MAX_BYTES_PER_SECOND) stream.pause();
    tell(cutter.take(chunk));
  });
  stream.on("close", () => {
    tell(cutter.end());
    clearTimeout(second);
  });
  stream.on("error", () => undefined);
}
