import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Limits on what one stream of one sandbox may put into the log, in each second. */
export const OUTPUT_LIMITS = {
  /** Characters; a longer line is cut. */
  line: 8 * 1024,
  lines: 200,
  characters: 256 * 1024,
  /** Bytes read at all: past them the plugin waits, like before a slow pipe. */
  read: 8 * 1024 * 1024,
} as const;

export interface OutputSink {
  line: (text: string) => void;
  dropped: (lines: number) => void;
}

/** Hands a stream on line by line. Lines over the limit are counted, not kept; memory stays at one line. */
export function captureOutput(stream: Readable, sink: OutputSink): void {
  const decoder = new StringDecoder("utf8");
  let line = "";
  let cut = false;
  let lines = 0;
  let characters = 0;
  let read = 0;
  let dropped = 0;
  let second: NodeJS.Timeout | undefined;

  const nextSecond = (): void => {
    second = undefined;
    lines = 0;
    characters = 0;
    read = 0;
    if (dropped > 0) sink.dropped(dropped);
    dropped = 0;
    stream.resume();
  };
  const finishLine = (): void => {
    const text = cut ? `${line}…` : line;
    line = "";
    cut = false;
    if (text === "") return;
    if (lines >= OUTPUT_LIMITS.lines || characters >= OUTPUT_LIMITS.characters) {
      dropped++;
      return;
    }
    lines++;
    characters += text.length;
    sink.line(text);
  };
  const append = (part: string): void => {
    const room = OUTPUT_LIMITS.line - line.length;
    if (part.length > room) cut = true;
    line += part.slice(0, Math.max(0, room));
  };

  stream.on("data", (chunk: Buffer) => {
    second ??= setTimeout(nextSecond, 1000).unref();
    read += chunk.length;
    if (read > OUTPUT_LIMITS.read) stream.pause();
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
    if (dropped > 0) sink.dropped(dropped);
  });
  stream.on("error", () => undefined);
}
