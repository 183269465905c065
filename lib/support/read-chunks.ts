import type { FileHandle } from "node:fs/promises";

/** Reads a file in chunks of at most `size` bytes. Two buffers take turns: use each before asking for the next. */
export async function* readChunks(file: FileHandle, signal?: AbortSignal, size = 512 * 1024): AsyncGenerator<Buffer> {
  const buffers = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)] as const;
  const read = (position: number, turn: 0 | 1) => file.read(buffers[turn], 0, size, position);
  let ahead = read(0, 0);
  try {
    for (let position = 0, turn: 0 | 1 = 0; ; turn = turn === 0 ? 1 : 0) {
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
