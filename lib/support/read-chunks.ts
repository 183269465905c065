import type { FileHandle } from "node:fs/promises";
import type { ByteRange } from "./network/byte-ranges.ts";

interface ChunkOptions {
  /** Most bytes of a chunk. */
  size?: number;
  /** The first byte and the last one; the whole file unless given. */
  range?: ByteRange;
}

/** Reads a file in chunks. Two buffers take turns: use each before asking for the next. */
export async function* readChunks(
  file: FileHandle,
  signal?: AbortSignal,
  { size = 512 * 1024, range = { start: 0, end: Infinity } }: ChunkOptions = {},
): AsyncGenerator<Buffer> {
  const buffers = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)] as const;
  const read = (position: number, turn: 0 | 1) =>
    file.read(buffers[turn], 0, Math.min(size, range.end + 1 - position), position);
  let ahead = read(range.start, 0);
  try {
    for (let position = range.start, turn: 0 | 1 = 0; ; turn = turn === 0 ? 1 : 0) {
      signal?.throwIfAborted();
      const { bytesRead, buffer } = await ahead;
      if (bytesRead === 0) return;
      position += bytesRead;
      ahead = read(position, turn === 0 ? 1 : 0);
      // A caller that stops here leaves this read without anybody who hears of its error.
      ahead.catch(() => {});
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    // The file may be closed, and the buffer goes, only when nothing is read any more.
    await ahead.catch(() => {});
  }
}
