import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** A longer line is cut. */
const MAX_LINE_CHARACTERS = 8 * 1024;
/** Past them the plugin waits, like before a slow pipe. */
const MAX_BYTES_PER_SECOND = 8 * 1024 * 1024;

/** Hands a stream on line by line. Memory stays at one line. */
export function captureOutput(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let line = "";
  let isCut = false;
  let bytes = 0;
  let second: NodeJS.Timeout | undefined;

  const nextSecond = (): void => {
    second = undefined;
    bytes = 0;
    stream.resume();
  };
  const finishLine = (): void => {
    const text = isCut ? `${line}…` : line;
    line = "";
    isCut = false;
    if (text !== "") onLine(text);
  };
  const append = (part: string): void => {
    const room = MAX_LINE_CHARACTERS - line.length;
    if (part.length > room) isCut = true;
    line += part.slice(0, Math.max(0, room));
  };

  stream.on("data", (chunk: Buffer) => {
    second ??= setTimeout(nextSecond, 1000).unref();
    bytes += chunk.length;
    if (bytes > MAX_BYTES_PER_SECOND) stream.pause();
    const text = decoder.write(chunk);
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      append(text.slice(start, end));
      finishLine();
      start = end + 1;
    }
    append(text.slice(start));
  });
  stream.on("close", () => {
    finishLine();
    clearTimeout(second);
  });
  stream.on("error", () => undefined);
}
