import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { MAX_PLAINTEXT_BYTES } from "../artifact/limits.ts";
import { signArchive } from "../artifact/signatures/archive-hmac.ts";
import { publicKeyOf } from "../artifact/signatures/ed25519.ts";
import { signFile } from "../artifact/signatures/sign-file.ts";
import { installError, type MarketplaceClient } from "../client/marketplace-client.ts";
import { uploadResumed } from "../client/resumed-upload.ts";
import type { AuthorSignature, VersionFields } from "../contract/surfaces/marketplace.ts";
import { type RetryEvent, tellRetries } from "./upload.ts";

/** Secrets that sign an archive. */
export interface ArchiveSecrets {
  /** Developer's signing secret, which hosts know, too. */
  signingSecret: string;
  /** Author's 32-byte seed, which nobody else knows; undefined publishes without the author's signature. */
  seed: Uint8Array | undefined;
}

/**
 * Signs a local archive and publishes it, in as many requests as it takes.
 *
 * @throws UsageError `usage` for a file that cannot be read; PublishError
 */
export async function publishArchive(
  client: MarketplaceClient,
  fields: Omit<VersionFields, "signature" | keyof AuthorSignature>,
  file: string,
  { signingSecret, seed }: ArchiveSecrets,
  { signal, emit }: { signal: AbortSignal; emit: (event: RetryEvent) => void },
): ReturnType<MarketplaceClient["publish"]> {
  const signature = await signArchive(file, signingSecret, signal);
  const author = seed === undefined ? {} : await signAsAuthor(file, seed, signal);
  return uploadResumed({
    ask: (id) => client.keptBytes(id),
    send: (step, onSent) => client.publish({ ...fields, signature, ...author }, file, { step, onSent }),
    file: () => Promise.resolve(file),
    signal,
    ...tellRetries(emit),
  });
}

/** Signs an archive as its author. @throws PublishError `source_changed` */
async function signAsAuthor(path: string, seed: Uint8Array, signal: AbortSignal): Promise<AuthorSignature> {
  await using file = await open(path);
  return {
    signature_ed25519: Buffer.from(await signFile(file, seed, signal)).toString("base64"),
    signer_public_key: Buffer.from(publicKeyOf(seed)).toString("base64"),
  };
}

/** Published archive, for its author to inspect before signing. */
export interface FetchedArchive extends AsyncDisposable {
  bytes: number;
  /** SHA-256 of the received bytes. */
  sha256: string;
  /** `owner/repo@ref`, if the hub states it. */
  repo: string | undefined;
  sign(seed: Uint8Array, signal: AbortSignal): Promise<AuthorSignature>;
}

/** Fetches a published archive into a temporary file, which is removed with the result. @throws ArtifactError */
export async function fetchToSign(
  client: MarketplaceClient,
  version: string,
  signal: AbortSignal,
): Promise<FetchedArchive> {
  await using fetched = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "sealift-sign-"));
  fetched.defer(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "archive.zip");
  const found = await client.install(version, async ({ repo }, body) => ({
    repo,
    ...(await save(body, path, signal)),
  }));
  const kept = fetched.move();
  return {
    ...found,
    sign: (seed, signal) => signAsAuthor(path, seed, signal),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function save(body: Readable, path: string, signal: AbortSignal): Promise<{ bytes: number; sha256: string }> {
  const sha256 = createHash("sha256");
  let bytes = 0;
  async function* hashed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > MAX_PLAINTEXT_BYTES)
        throw installError("limit_exceeded", `the archive is larger than ${MAX_PLAINTEXT_BYTES} bytes.`);
      sha256.update(chunk);
      yield chunk;
    }
  }
  await pipeline(body, hashed, createWriteStream(path, { mode: 0o600 }), { signal });
  return { bytes, sha256: sha256.digest("hex") };
}
