import { writeSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { constants, createZstdCompress, type ZstdCompress } from "node:zlib";
import { usageError } from "../../contract/errors.ts";
import { freeBuffer } from "../../support/buffer-pacing.ts";
import { type OnePassSigner, publicKeyOf } from "../signatures/ed25519.ts";
import { hedgedSigner } from "../signatures/hedged-signer.ts";
import { traceLane, waiting, waitingFor } from "../thread/lane-trace.ts";
import { chunkThread, TreeIndexer } from "../tree/tree-index.ts";
import { newDek, sealed } from "./cipher.ts";
import type { GrowingFile } from "./growing-file.ts";
import type { ListedProject, SourceProject } from "./project-tree.ts";
import { CHUNKS, tarBytes, tarChunks, type TarSource } from "./tar.ts";

export interface SealOptions {
  /** Path of the artifact's file, which must not exist. */
  output: string;
  /** Signer's 32-byte seed. */
  seed: Uint8Array;
  /** zstd level, 1 to 19. */
  level: number;
  signal?: AbortSignal;
  /** Called with the tar bytes packed so far and in all. */
  onPacked?: (done: number, total: number) => void;
  /** Called with the artifact's size in bytes once it is written. */
  onSealed?: (bytes: number) => void;
  /** Keys drawn for this artifact in advance, never used for another one. */
  keys?: SealingKeys;
  /** Whether the file must survive a power cut once it is sealed; not needed if it is only sent. Default false. */
  durable?: boolean;
  /** Receives the growth of the file of `output`, so that it can be read meanwhile. */
  growing?: GrowingFile;
}

export interface SealedArtifact {
  path: string;
  /** Size in bytes. */
  size: number;
  dek: Buffer;
  signature: Uint8Array;
  signerPublicKey: Uint8Array;
}

/** Keys of one artifact, drawn before its first byte. */
export interface SealingKeys {
  dek: Buffer;
  signer: OnePassSigner;
}

/** Draws the keys of one artifact. @param seed the signer's 32 bytes */
export function drawKeys(
  seed: Uint8Array,
  { tree, ...names }: Pick<ListedProject, "projectId" | "version" | "tree">,
): SealingKeys {
  const dek = newDek();
  return { dek, signer: hedgedSigner(seed, { ...names, listing: tree.members.stampDigest(), dek }) };
}

/** Bytes of compressed output sealed and written at a time: the compressor waits for the main thread after each. */
const OUTPUT_BYTES = 1024 * 1024;

/** Seals a project whose files have been read before, in the manner of {@link sealListed}. */
export async function sealProject(project: SourceProject, options: SealOptions): Promise<SealedArtifact> {
  const { tree, mtime, manifestBytes, manifest } = project;
  const source = { tree, mtime, manifestBytes: manifestBytes.length, manifest: () => manifestBytes };
  const keys = drawKeys(options.seed, { projectId: manifest.project_id, version: manifest.version, tree });
  return await seal(source, { keys, ...options });
}

/**
 * Seals a project in one pass over its files, hashing and packing each as it is read: tar → zstd → AES-256-GCM →
 * signature and file (docs/contract/project-artifact.md). The file has mode 0600, and is removed on any failure.
 *
 * @param chunks whether large files are cut into chunks, for deltas
 * @throws PublishError `source_changed`
 */
export async function sealListed(
  listed: ListedProject,
  { chunks = false, onRead, ...options }: SealOptions & { chunks?: boolean; onRead?: (project: SourceProject) => void },
): Promise<{ project: SourceProject; artifact: SealedArtifact }> {
  const { tree, mtime, manifestBytes } = listed;
  await using thread = chunks ? chunkThread(tree) : undefined;
  const watch = new TreeIndexer(tree, chunks, thread);
  let project: SourceProject | undefined;
  const manifest = (): Buffer => {
    project = listed.describe(watch.entries());
    onRead?.(project);
    return project.manifestBytes;
  };
  const keys = options.keys ?? drawKeys(options.seed, listed);
  const artifact = await seal({ tree, mtime, manifestBytes, manifest, watch }, { ...options, keys });
  await watch.complete();
  return { project: project!, artifact };
}

async function seal(
  source: TarSource,
  options: SealOptions & Required<Pick<SealOptions, "keys">>,
): Promise<SealedArtifact> {
  const { output, seed, level } = options;
  const { dek } = options.keys;
  using signer = options.keys.signer;
  const total = tarBytes(source);
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
    const onBytes = (bytes: Buffer): void => void signer.update(bytes);
    const written = writeSealed(compressor, dek, onBytes, { descriptor: sink.fd, growing: options.growing });
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
    options.onSealed?.(size);
    options.growing?.end();
    const signature = signer.sign();
    if (options.durable === true) await sink.sync();
    return { path: output, size, dek, signature, signerPublicKey: publicKeyOf(seed) };
  } catch (error) {
    await rm(output, { force: true });
    throw error;
  }
}

/**
 * Packs the tree into the compressor. Buffers of chunks are reused: one is with the compressor and one is waiting while
 * the next is filled.
 */
async function feed(
  source: TarSource,
  compressor: ZstdCompress,
  { total, signal, onPacked }: Pick<SealOptions, "signal" | "onPacked"> & { total: number },
): Promise<void> {
  using lane = traceLane("pack");
  let packed = 0;
  /** Chunks that the compressor has not taken yet. */
  const given: PromiseWithResolvers<void>[] = [];
  // A destroyed compressor calls no callbacks.
  compressor.once("close", () => given.forEach(({ reject }) => reject(new Error("The compressor was closed."))));
  for (const chunk of tarChunks(source)) {
    signal?.throwIfAborted();
    packed += chunk.length;
    onPacked?.(packed, total);
    const taken = Promise.withResolvers<void>();
    taken.promise.catch(() => {});
    compressor.write(chunk, (error) => (error ? taken.reject(error) : taken.resolve()));
    given.push(taken);
    if (source.watch !== undefined) await waiting(lane, "cut chunks", source.watch.room());
    if (given.length < CHUNKS) continue;
    await waiting(lane, "compress", given[0]!.promise);
    given.shift();
  }
  for (const { promise } of given) await promise;
  compressor.end();
}

/**
 * Seals and writes the compressor's output. Writes synchronously: a promise for each write costs more than the copy to
 * the system's cache, and the compressor continues meanwhile.
 *
 * @returns bytes of the file
 */
async function writeSealed(
  compressor: ZstdCompress,
  dek: Uint8Array,
  onBytes: (bytes: Buffer) => void,
  { descriptor, growing }: { descriptor: number; growing: GrowingFile | undefined },
): Promise<number> {
  using lane = traceLane("encrypt");
  let size = 0;
  for await (const bytes of sealed(waitingFor(lane, "compress", outputOf(compressor)), dek)) {
    onBytes(bytes);
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done, bytes.length - done);
    size += bytes.length;
    const isTaken = growing?.grow(bytes) ?? false;
    // The nonce is in memory shared by small buffers.
    if (!isTaken && bytes.length === bytes.buffer.byteLength) freeBuffer(bytes);
  }
  return size;
}

async function* outputOf(compressor: ZstdCompress): AsyncGenerator<Buffer> {
  for await (const chunk of compressor as AsyncIterable<Buffer>) {
    yield chunk;
    // The compressor starts a new buffer when one is full.
    if (chunk.byteOffset + chunk.length === OUTPUT_BYTES) freeBuffer(chunk);
  }
}
