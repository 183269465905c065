import type { FileHandle } from "node:fs/promises";
import type { ByteRange } from "./network/byte-ranges.ts";

interface ChunkOptions {
  /** Most bytes of a chunk. */
  size?: number;
  /** First and last byte, both included. Default: the whole file. */
  range?: ByteRange;
}

/** Reads a file in chunks. Two buffers take turns: use each chunk before requesting the next. */
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
      // If the caller stops here, nobody handles the error of this read.
      ahead.catch(() => {});
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    // Close the file and free the buffer only when no read is under way.
    await ahead.catch(() => {});
  }
}
