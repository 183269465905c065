import { createHash } from "node:crypto";
import { missing } from "../../support/files.ts";
import { countBuffered } from "../base/buffer-collection.ts";
import type { Blobs, IncomingBlob } from "../blobs/port.ts";

/** Blob, with the size and digest that its record states. */
export interface ExpectedBlob {
  id: string;
  /** Size in bytes. */
  size: number;
  /** SHA-256, hexadecimal. */
  sha256: string;
}

export type BlobFault = "missing" | "wrong_size" | "wrong_bytes";

export interface CopiedBlobs {
  copied: number;
  /** Blobs that were already there, with the right size. */
  present: number;
  /** Bytes that were copied. */
  bytes: number;
}

export interface BlobCopyOptions<T extends ExpectedBlob> {
  /** Called with each blob that cannot be copied. Rejects to stop copying. */
  onFault: (blob: T, fault: BlobFault) => void | Promise<void>;
  /** Called with each blob that is done. */
  onDone?: (blob: T) => void;
  signal?: AbortSignal;
}

/** Blobs copied at a time: while one waits for the disk, the others continue. */
const LANES = 3;

/** Copies blobs to another storage and checks each copy against its record. Existing blobs are kept. */
export async function copyBlobs<T extends ExpectedBlob>(
  from: Blobs,
  to: Blobs,
  expected: AsyncIterable<T>,
  { onFault, onDone, signal }: BlobCopyOptions<T>,
): Promise<CopiedBlobs> {
  const total: CopiedBlobs = { copied: 0, present: 0, bytes: 0 };
  const failures: unknown[] = [];
  const blobs = expected[Symbol.asyncIterator]();
  const lane = async (): Promise<void> => {
    while (failures.length === 0) {
      signal?.throwIfAborted();
      const next = await blobs.next();
      if (next.done === true) return;
      const blob = next.value;
      const outcome = await copyBlob(from, to, blob, signal);
      if (outcome === "copied") {
        total.copied++;
        total.bytes += blob.size;
      } else if (outcome === "present") total.present++;
      else await onFault(blob, outcome);
      onDone?.(blob);
    }
  };
  await Promise.all(Array.from({ length: LANES }, () => lane().catch((error: unknown) => void failures.push(error))));
  await blobs.return?.();
  if (failures.length > 0) throw failures[0];
  return total;
}

async function copyBlob(
  from: Blobs,
  to: Blobs,
  { id, size, sha256 }: ExpectedBlob,
  signal: AbortSignal | undefined,
): Promise<"copied" | "present" | BlobFault> {
  if ((await to.size(id)) === size) return "present";
  const found = await from.size(id);
  if (found !== undefined && found !== size) return "wrong_size";
  await using incoming = await to.create();
  if (!(await fill(incoming, from, id, signal))) return "missing";
  await incoming.flush();
  // Hashes the bytes as they were written.
  const hash = createHash("sha256");
  for await (const chunk of incoming.readBack()) {
    hash.update(chunk);
    signal?.throwIfAborted();
  }
  if (hash.digest("hex") !== sha256) return "wrong_bytes";
  await incoming.commit(id);
  return "copied";
}

/** Copies one blob. @returns false when it is gone, from the trash too */
async function fill(
  incoming: IncomingBlob,
  from: Blobs,
  id: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const attempts =
    from.filesOf === undefined
      ? [() => fillFromStream(incoming, from, id, signal)]
      : from.filesOf(id).map((file) => () => incoming.copyFrom(file));
  for (const attempt of attempts) {
    try {
      await attempt();
      return true;
    } catch (error) {
      if (!missing(error)) throw error;
    }
  }
  return false;
}

async function fillFromStream(
  incoming: IncomingBlob,
  from: Blobs,
  id: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const chunk of (await from.read(id)) as AsyncIterable<Buffer>) {
    signal?.throwIfAborted();
    await incoming.write(chunk);
    countBuffered(chunk.length);
  }
}

/**
 * Compares a blob with its record.
 *
 * @param isQuick compares sizes only
 */
export async function faultOfBlob(
  blobs: Blobs,
  { id, size, sha256 }: ExpectedBlob,
  isQuick: boolean,
  signal?: AbortSignal,
): Promise<BlobFault | undefined> {
  const found = await blobs.size(id);
  if (found === undefined) return "missing";
  if (found !== size) return "wrong_size";
  if (isQuick || size === 0) return undefined;
  const hash = createHash("sha256");
  try {
    for await (const chunk of (await blobs.read(id)) as AsyncIterable<Buffer>) {
      signal?.throwIfAborted();
      hash.update(chunk);
      countBuffered(chunk.length);
    }
  } catch (error) {
    // The version was deleted after the list was read.
    if (missing(error)) return "missing";
    throw error;
  }
  return hash.digest("hex") === sha256 ? undefined : "wrong_bytes";
}
