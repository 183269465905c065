import type { FileHandle } from "node:fs/promises";

/**
 * Reads a file from its start in chunks of `size` bytes into one reused buffer: use each chunk before asking for the
 * next.
 */
export async function* readChunks(file: FileHandle, signal?: AbortSignal, size = 1024 * 1024): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(size);
  for (let position = 0; ;) {
    signal?.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, size, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
