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

/** Copied at once: the others go on while one waits for the disk. */
const LANES = 3;

/**
 * Copies blobs from one storage to another, by the system where both are files of this machine, and checks each copy
 * against its record. What is there already stays.
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
  const failures: unknown[] = [];
  const blobs = expected[Symbol.asyncIterator]();
  const lane = async (): Promise<void> => {
    while (failures.length === 0) {
      const next = await blobs.next();
      if (next.done === true) return;
      if (await copyBlob(from, to, next.value)) {
        total.copied++;
        total.bytes += next.value.size;
        onCopied?.(total);
      } else total.present++;
    }
  };
  await Promise.all(Array.from({ length: LANES }, () => lane().catch((error: unknown) => void failures.push(error))));
  await blobs.return?.();
  if (failures.length > 0) throw failures[0];
  return total;
}

/** @returns false when it is there already, of the right size */
async function copyBlob(from: Blobs, to: Blobs, { id, size, sha256 }: ExpectedBlob): Promise<boolean> {
  if ((await to.size(id)) === size) return false;
  if ((await from.size(id)) === undefined) throw verificationError(`The blob ${id} is gone from ${from.name}.`);
  await using incoming = await to.create();
  const file = from.fileOf?.(id);
  if (file === undefined) {
    for await (const chunk of (await from.read(id)) as AsyncIterable<Buffer>) {
      await incoming.write(chunk);
      countBuffered(chunk.length);
    }
  } else await incoming.copyFrom(file);
  await incoming.flush();
  // The digest is that of the bytes as they were written.
  const hash = createHash("sha256");
  for await (const chunk of incoming.readBack()) hash.update(chunk);
  if (hash.digest("hex") !== sha256)
    throw verificationError(`The blob ${id} in ${from.name} is not what was published.`);
  await incoming.commit(id);
  return true;
}
