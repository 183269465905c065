import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress } from "node:zlib";
import { usageError } from "../../contract/errors.ts";
import { publicKeyOf, signFile, TwoPassSigner } from "../signatures/ed25519.ts";
import { newDek, SealingCipher } from "./cipher.ts";
import type { Project } from "./project-tree.ts";
import { tarBytes, tarChunks } from "./tar.ts";

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
}

export interface SealedArtifact {
  path: string;
  /** Bytes. */
  size: number;
  dek: Buffer;
  signature: Uint8Array;
  signerPublicKey: Uint8Array;
}

/**
 * Seals a project: tar → zstd → AES-256-GCM → file in one pass, the first pass of the signature beside it, then its second pass
 * over the file (docs/contract/project-artifact.md). The file is 0600, synced, and gone again when anything fails.
 */
export async function sealProject(project: Project, options: SealOptions): Promise<SealedArtifact> {
  const { output, seed, level, signal } = options;
  const total = tarBytes(project.tree, project.manifestBytes);
  const signer = new TwoPassSigner(seed);
  const dek = newDek();
  const sink = createWriteStream(output, { flags: "wx", mode: 0o600, flush: true, highWaterMark: 1024 * 1024 });
  await once(sink, "open").catch((error: NodeJS.ErrnoException) => {
    throw usageError(
      "usage",
      error.code === "EEXIST" ? `${output} exists already.` : `${output} cannot be written: ${error.message}.`,
    );
  });
  try {
    let packed = 0;
    let size = 0;
    const compressor = createZstdCompress({
      chunkSize: 256 * 1024,
      pledgedSrcSize: total,
      params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 0 },
    });
    const firstPass = new Transform({
      transform(chunk: Buffer, _encoding, callback) {
        signer.first(chunk);
        size += chunk.length;
        callback(null, chunk);
      },
    });
    // A chunk's buffer is used again: the compressor must be done with one before the next but one is packed.
    const feed = async (): Promise<void> => {
      let taken = Promise.resolve();
      for await (const chunk of tarChunks(project.tree, project.manifestBytes, project.mtime, signal)) {
        await taken;
        packed += chunk.length;
        options.onPacked?.(packed, total);
        taken = new Promise((resolve, reject) => {
          compressor.write(chunk, (error) => (error ? reject(error) : resolve()));
        });
        taken.catch(() => {});
      }
      await taken;
      compressor.end();
    };
    const written = pipeline(
      compressor,
      new SealingCipher(dek),
      firstPass,
      sink,
      signal === undefined ? {} : { signal },
    );
    await Promise.all([written, feed().catch((error: unknown) => compressor.destroy(error as Error))]);
    options.onSigning?.(size);
    await using file = await open(output, "r");
    const signature = await signFile(file, signer, { firstPassDone: true, ...(signal && { signal }) });
    return { path: output, size, dek, signature, signerPublicKey: publicKeyOf(seed) };
  } catch (error) {
    await rm(output, { force: true });
    throw error;
  }
}
