import { open } from "node:fs/promises";
import { artifactError } from "../../contract/errors.ts";
import { paceBuffers } from "../../support/buffer-pacing.ts";

const NEWLINE = 10;
/** Bytes read at a time: each read costs a round trip to the thread pool. */
const READ_BYTES = 128 * 1024;
/** Bytes whose lines are yielded together: more would be promoted to V8's old generation. */
const PIECE_BYTES = 32 * 1024;
/** Most bytes that a UTF-16 unit has in UTF-8. */
const MAX_CHARACTER_BYTES = 3;

/**
 * Reads a text file line by line; `node:readline` does not limit a line's length.
 *
 * @param maxLineBytes longest line, without its newline
 * @throws ArtifactError `limit_exceeded` for a longer line
 */
export async function* readLines(path: string, maxLineBytes: number): AsyncGenerator<string, undefined> {
  for await (const lines of readLineBatches(path, maxLineBytes)) yield* lines;
  return undefined;
}

/**
 * Reads a text file like {@link readLines}, and yields the lines of each piece together: for many short lines, a
 * promise each costs more than the line.
 */
export async function* readLineBatches(path: string, maxLineBytes: number): AsyncGenerator<string[], undefined> {
  const tooLong = (): Error =>
    artifactError("limit_exceeded", `${path} has a line of more than ${maxLineBytes} bytes.`);
  /** Start of a line that continues in the next piece. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  const hold = (part: Buffer): void => {
    heldBytes += part.length;
    if (heldBytes > maxLineBytes) throw tooLong();
    if (part.length > 0) held.push(Buffer.from(part));
  };
  for await (const piece of piecesOf(path)) {
    const first = piece.indexOf(NEWLINE);
    if (first === -1) {
      hold(piece);
      continue;
    }
    hold(piece.subarray(0, first));
    const lines = [held.length === 1 ? held[0]!.toString("utf8") : Buffer.concat(held).toString("utf8")];
    held = [];
    heldBytes = 0;
    const last = piece.lastIndexOf(NEWLINE);
    if (last > first)
      for (const line of piece.toString("utf8", first + 1, last).split("\n")) {
        if (line.length * MAX_CHARACTER_BYTES > maxLineBytes && Buffer.byteLength(line) > maxLineBytes) throw tooLong();
        lines.push(line);
      }
    hold(piece.subarray(last + 1));
    yield lines;
  }
  if (heldBytes > 0) yield [Buffer.concat(held).toString("utf8")];
  return undefined;
}

/** Reads a file. Each piece is a view of memory that the next one may overwrite. */
async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  await using file = await open(path);
  const pace = paceBuffers("lines");
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES);
    if (bytesRead === 0) return;
    for (let at = 0; at < bytesRead; at += PIECE_BYTES) {
      yield buffer.subarray(at, Math.min(at + PIECE_BYTES, bytesRead));
      pace(PIECE_BYTES);
    }
  }
}
