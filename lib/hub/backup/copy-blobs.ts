import { createHash } from "node:crypto";
import type { Blobs } from "../blobs/port.ts";
import { countBuffered } from "../buffer-collection.ts";
import { verificationError } from "./verification-error.ts";

/** A blob with what its record says of it. */
export interface ExpectedBlob {
  id: string;
  /** Bytes. */
  size: number;
  /** Hexadecimal. */
  sha256: string;
}

export interface CopiedBlobs {
  copied: number;
  /** Blobs that were there already, of the right size. */
  present: number;
  bytes: number;
}

/**
 * Copies blobs from one storage to another as streams, and checks each against its record on the way. What is there
 * already stays.
 *
 * @throws ArtifactError `digest_mismatch` for a blob that is gone or is not what its record says
 */
export async function copyBlobs(
  from: Blobs,
  to: Blobs,
  expected: AsyncIterable<ExpectedBlob>,
  onCopied?: (total: CopiedBlobs) => void,
): Promise<CopiedBlobs> {
  const total: CopiedBlobs = { copied: 0, present: 0, bytes: 0 };
  for await (const { id, size, sha256 } of expected) {
    if ((await to.size(id)) === size) {
      total.present++;
      continue;
    }
    if ((await from.size(id)) === undefined) throw verificationError(`The blob ${id} is gone from ${from.name}.`);
    const hash = createHash("sha256");
    await using incoming = await to.create();
    for await (const chunk of (await from.read(id)) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      await incoming.write(chunk);
      countBuffered(chunk.length);
    }
    if (hash.digest("hex") !== sha256)
      throw verificationError(`The blob ${id} in ${from.name} is not what was published.`);
    await incoming.flush();
    await incoming.commit(id);
    total.copied++;
    total.bytes += size;
    onCopied?.(total);
  }
  return total;
}
