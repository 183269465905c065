import { writeSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { constants, createZstdCompress, type ZstdCompress } from "node:zlib";
import { usageError } from "../../contract/errors.ts";
import { freeBuffer } from "../../support/buffer-pacing.ts";
import { publicKeyOf, TwoPassSigner } from "../signatures/ed25519.ts";
import { signFile } from "../signatures/sign-file.ts";
import { chunkThread, TreeIndexer } from "../tree/tree-index.ts";
import { newDek, sealed } from "./cipher.ts";
import type { GrowingFile } from "./growing-file.ts";
import type { ListedProject, Project } from "./project-tree.ts";
import { CHUNKS, tarBytes, tarChunks, type TarSource } from "./tar.ts";

export interface SealOptions {
  /** The artifact's file; it must not exist. */
  output: string;
  /** The signer's 32-byte seed. */
  seed: Uint8Array;
  /** zstd level, 1 to 19. */
  level: number;
  signal?: AbortSignal;
  /** Called with the tar bytes packed so far and in all. */
  onPacked?: (done: number, total: number) => void;
  /** Called with the artifact's bytes when it is written and its signature's second pass begins. */
  onSigning?: (bytes: number) => void;
  /** Hears how far the file of `output` has grown, so that it can be read meanwhile. */
  growing?: GrowingFile;
}

export interface SealedArtifact {
  path: string;
  /** Bytes. */
  size: number;
  dek: Buffer;
  signature: Uint8Array;
  signerPublicKey: Uint8Array;
}

/** Bytes of compressed output that are sealed and written at once. */
const OUTPUT_BYTES = 128 * 1024;

/** Seals a project whose files have been read before, as {@link sealListed} does. */
export async function sealProject(project: Project, options: SealOptions): Promise<SealedArtifact> {
  const { tree, mtime, manifestBytes } = project;
  return await seal({ tree, mtime, manifestBytes: manifestBytes.length, manifest: () => manifestBytes }, options);
}

/**
 * Seals a project in one pass over its files: each is read once, hashed and packed; tar → zstd → AES-256-GCM → file,
 * the first pass of the signature beside it, then its second pass over the file (docs/contract/project-artifact.md).
 * The file is 0600, synced, and gone again when anything fails.
 *
 * @param chunks whether large files are cut into chunks, for deltas
 * @throws PublishError `source_changed`
 */
export async function sealListed(
  listed: ListedProject,
  { chunks = false, onRead, ...options }: SealOptions & { chunks?: boolean; onRead?: (project: Project) => void },
): Promise<{ project: Project; artifact: SealedArtifact }> {
  const { tree, mtime, manifestBytes } = listed;
  await using thread = chunks ? chunkThread(tree) : undefined;
  const watch = new TreeIndexer(tree, chunks, thread);
  let project: Project | undefined;
  const manifest = (): Buffer => {
    project = listed.describe(watch.entries());
    onRead?.(project);
    return project.manifestBytes;
  };
  const artifact = await seal({ tree, mtime, manifestBytes, manifest, watch }, options);
  await watch.complete();
  return { project: project!, artifact };
}

async function seal(source: TarSource, options: SealOptions): Promise<SealedArtifact> {
  const { output, seed, level, signal } = options;
  const total = tarBytes(source);
  const signer = new TwoPassSigner(seed);
  const dek = newDek();
  const file = await open(output, "wx+", 0o600).catch((error: NodeJS.ErrnoException) => {
    throw usageError(
      "usage",
      error.code === "EEXIST" ? `${output} exists already.` : `${output} cannot be written: ${error.message}.`,
    );
  });
  try {
    await using sink = file;
    const compressor = createZstdCompress({
      chunkSize: OUTPUT_BYTES,
      pledgedSrcSize: total,
      params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 0 },
    });
    const written = writeSealed(compressor, dek, signer, { descriptor: sink.fd, growing: options.growing });
    const fed = feed(source, compressor, { ...options, total });
    fed.catch((error: unknown) => compressor.destroy(error as Error));
    const size = await Promise.all([written, fed]).then(
      ([bytes]) => bytes,
      async (error: unknown) => {
        compressor.destroy();
        await Promise.allSettled([written, fed]);
        throw error;
      },
    );
    options.onSigning?.(size);
    options.growing?.end();
    // The disk writes while the signature's second pass reads what is in memory. Both end before the file is closed.
    const synced = sink.sync();
    synced.catch(() => {});
    const signature = await signFile(sink, signer, { firstPassDone: true, ...(signal && { signal }) }).finally(() =>
      synced.catch(() => {}),
    );
    await synced;
    return { path: output, size, dek, signature, signerPublicKey: publicKeyOf(seed) };
  } catch (error) {
    await rm(output, { force: true });
    throw error;
  }
}

/**
 * Packs the tree into the compressor. A chunk's buffer is used again: one is with the compressor and one waits for it
 * while the next is filled.
 */
async function feed(
  source: TarSource,
  compressor: ZstdCompress,
  { total, signal, onPacked }: Pick<SealOptions, "signal" | "onPacked"> & { total: number },
): Promise<void> {
  let packed = 0;
  /** Chunks that the compressor has not taken yet. */
  const given: PromiseWithResolvers<void>[] = [];
  // A compressor that is destroyed calls nobody back.
  compressor.once("close", () => given.forEach(({ reject }) => reject(new Error("The compressor was closed."))));
  for (const chunk of tarChunks(source)) {
    signal?.throwIfAborted();
    packed += chunk.length;
    onPacked?.(packed, total);
    const taken = Promise.withResolvers<void>();
    taken.promise.catch(() => {});
    compressor.write(chunk, (error) => (error ? taken.reject(error) : taken.resolve()));
    given.push(taken);
    await source.watch?.room();
    if (given.length < CHUNKS) continue;
    await given[0]!.promise;
    given.shift();
  }
  for (const { promise } of given) await promise;
  compressor.end();
}

/**
 * Seals what the compressor makes and writes it. Synchronous writes: a promise for each costs more than the copy to the
 * system's cache, and the compressor works on meanwhile.
 *
 * @returns bytes of the file
 */
async function writeSealed(
  compressor: ZstdCompress,
  dek: Uint8Array,
  signer: TwoPassSigner,
  { descriptor, growing }: { descriptor: number; growing: GrowingFile | undefined },
): Promise<number> {
  let size = 0;
  for await (const bytes of sealed(outputOf(compressor), dek)) {
    signer.first(bytes);
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done, bytes.length - done);
    size += bytes.length;
    const isTaken = growing?.grow(bytes) ?? false;
    // The nonce lies in memory that small buffers share.
    if (!isTaken && bytes.length === bytes.buffer.byteLength) freeBuffer(bytes);
  }
  return size;
}

async function* outputOf(compressor: ZstdCompress): AsyncGenerator<Buffer> {
  for await (const chunk of compressor as AsyncIterable<Buffer>) {
    yield chunk;
    // The compressor begins a new buffer when one is full.
    if (chunk.byteOffset + chunk.length === OUTPUT_BYTES) freeBuffer(chunk);
  }
}
