import { createHash } from "node:crypto";
import type { SealiftError } from "../contract/errors.ts";

/** Size and digest of bytes, as announced before they arrive. */
export interface NamedBytes {
  size: number;
  /** SHA-256, hexadecimal. */
  sha256: string;
}

/**
 * Passes bytes on and compares them with their announced digest and size. Passes at most the announced size.
 *
 * @throws the error of `differing`, after the last byte, when they differ
 */
export async function* asNamed(
  chunks: AsyncIterable<Buffer>,
  { size, sha256 }: NamedBytes,
  differing: () => SealiftError,
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  let left = size;
  for await (const chunk of chunks) {
    left -= chunk.length;
    if (left < 0) break;
    hash.update(chunk);
    yield chunk;
  }
  if (left !== 0 || hash.digest("hex") !== sha256) throw differing();
}
