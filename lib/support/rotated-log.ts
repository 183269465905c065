import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ifThere } from "./files.ts";
import { LineCutter } from "./lines.ts";

/** Log in a file that is renamed when it is full: `log` becomes `log.1`, `log.1` becomes `log.2`. */
export interface RotatedLog {
  path: string;
  /** Files that are kept, the present one included. */
  files: number;
}

export interface RotatedLogReading {
  /** Lines to begin with. */
  lines: number;
  /** Whether to go on with what is written from now on, until `signal` aborts. Default false. */
  follow?: boolean;
  /** Most characters kept of a line. */
  maxCharacters: number;
  onLine: (line: string) => void | Promise<void>;
  signal?: AbortSignal | undefined;
}

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 10;
/** Time between two looks at a log that is followed, in milliseconds. */
const LOOK_MS = 200;

/** Reads the last lines of a log, and then what is written. A log that does not exist has no lines. */
export async function readRotatedLog(log: RotatedLog, reading: RotatedLogReading): Promise<void> {
  const { maxCharacters, onLine, signal } = reading;
  const cutter = new LineCutter(maxCharacters);
  const show = async (chunk: Buffer): Promise<void> => {
    for (const line of cutter.take(chunk)) await onLine(line);
  };
  await using opened = new AsyncDisposableStack();
  const parts = await partsOf(log, reading.lines, opened);
  let at = 0;
  for (const { file, from } of parts) at = await readFrom(file, from, show, signal);
  if (reading.follow === true && signal?.aborted !== true) await follow(log, parts.at(-1)?.file, at, show, signal);
  for (const line of cutter.end()) await onLine(line);
}

interface Part {
  file: FileHandle;
  /** Offset in bytes at which the wanted lines begin. */
  from: number;
}

/** Opens the files with the last lines of a log, the oldest first; the present file is the last. */
async function partsOf({ path, files }: RotatedLog, lines: number, opened: AsyncDisposableStack): Promise<Part[]> {
  const parts: Part[] = [];
  const seen = new Set<number>();
  let missing = lines;
  for (let number = 0; number < files && (number === 0 || missing > 0); number++) {
    const file = await ifThere(open(number === 0 ? path : `${path}.${number}`, "r"));
    if (file === undefined) continue;
    opened.use(file);
    const { ino, size } = await file.stat();
    // It was renamed since the look before.
    if (seen.has(ino)) continue;
    seen.add(ino);
    const found = await lastLines(file, size, missing);
    parts.unshift({ file, from: found.from });
    missing -= found.lines;
  }
  return parts;
}

/** Finds the start of the last lines of a file. @returns its offset in bytes, and how many lines follow it */
async function lastLines(file: FileHandle, size: number, wanted: number): Promise<{ from: number; lines: number }> {
  if (wanted <= 0) return { from: size, lines: 0 };
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let lines = 0;
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, end - start, start);
    for (let at = bytesRead - 1; at >= 0; at--) {
      // The newline at the very end belongs to the last line.
      if (chunk[at] !== NEWLINE || start + at === size - 1) continue;
      lines++;
      if (lines === wanted) return { from: start + at + 1, lines };
    }
    end = start;
  }
  return { from: 0, lines: size === 0 ? 0 : lines + 1 };
}

/** Reads a file from an offset to its present end. @returns the offset of that end */
async function readFrom(
  file: FileHandle,
  from: number,
  show: (chunk: Buffer) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<number> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let at = from; ;) {
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, at);
    if (bytesRead === 0 || signal?.aborted === true) return at;
    await show(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** Reads what is written to a log, through its renames, until the signal aborts. @param from offset in `first` */
async function follow(
  { path }: RotatedLog,
  first: FileHandle | undefined,
  from: number,
  show: (chunk: Buffer) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  let file = first;
  let at = from;
  await using opened = new AsyncDisposableStack();
  for (;;) {
    if (file !== undefined) at = await readFrom(file, at, show, signal);
    if (signal?.aborted === true) return;
    const present = await ifThere(open(path, "r"));
    if (present !== undefined && (file === undefined || (await present.stat()).ino !== (await file.stat()).ino)) {
      // What was written to the old file before its rename.
      if (file !== undefined) await readFrom(file, at, show, signal);
      await file?.close();
      file = opened.use(present);
      at = 0;
      continue;
    }
    await present?.close();
    await sleep(LOOK_MS, undefined, signal && { signal }).catch(() => undefined);
  }
}
