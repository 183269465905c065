import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { MAX_PLAINTEXT_BYTES } from "../../artifact/limits.ts";
import { ArchiveVerifier } from "../../artifact/signatures/archive-hmac.ts";
import { installError } from "../../client/marketplace-client.ts";
import { SealiftError } from "../../contract/errors.ts";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import { type AgentEvent, throttled } from "../base/events.ts";
import { isProven } from "./proven-secret.ts";
import type { FetchContext } from "./source.ts";
import type { SignatureCheck } from "./trust.ts";

/** Most bytes waiting for the disk; beyond that the connection pauses while a piece is written. */
const WAITING_BYTES = 1024 * 1024;

export interface SpoolOptions {
  /** Size in bytes, if the server states it. */
  size: number | undefined;
  /** HMAC to compare with that of the bytes, in constant time. */
  hmac?: { secret: string; expected: string };
  /** Check of the author's signature, where one is required. */
  author?: SignatureCheck | undefined;
}

export interface Spooled {
  bytes: number;
  sha256: string;
}

/**
 * Converts the error of a secret that has never verified anything here: it may be mistyped, so the version is not to
 * blame.
 */
function unproven(error: unknown): unknown {
  if (!(error instanceof SealiftError)) return error;
  return new SealiftError(error.kind, error.code, error.message, {
    ofTheHost: true,
    cause: error,
    hint: "Nothing was installed. --signing-secret has verified nothing of this target on this host yet: compare it with the developer's. If it is the same, these are not the developer's bytes.",
  });
}

/**
 * Writes an archive to disk while computing its SHA-256, its HMAC and its author's signature, where it has them: a ZIP
 * is read from its end.
 *
 * @throws ArtifactError `signature_invalid`, `limit_exceeded`, `download_incomplete`
 */
export async function spool(
  file: string,
  body: Readable,
  { size, hmac, author }: SpoolOptions,
  { layout, target, emit, signal, limits }: Omit<FetchContext, "staging">,
): Promise<Spooled> {
  const maxBytes = Math.min(limits.maxTotalBytes, MAX_PLAINTEXT_BYTES);
  const verifier = hmac && new ArchiveVerifier(hmac.secret, hmac.expected);
  const sha256 = createHash("sha256");
  const pace = paceBuffers();
  let bytes = 0;
  emit({ event: "fetch.started", size_bytes: size ?? null });
  const progress = throttled(emit, (): AgentEvent => ({
    event: "fetch.progress",
    bytes,
    size_bytes: size ?? null,
    unpacked_bytes: 0,
  }));
  const measure = new Transform({
    highWaterMark: WAITING_BYTES,
    transform(chunk: Buffer, _encoding, callback) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        callback(installError("limit_exceeded", `the artifact is larger than ${maxBytes} bytes.`));
        return;
      }
      verifier?.update(chunk);
      author?.update(chunk);
      sha256.update(chunk);
      pace(chunk.length);
      progress();
      callback(null, chunk);
    },
  });
  await pipeline(body, measure, createWriteStream(file, { mode: 0o600, highWaterMark: WAITING_BYTES }), { signal });
  if (size !== undefined && bytes !== size)
    throw installError("download_incomplete", `it ended after ${bytes} of ${size} bytes.`);
  try {
    verifier?.verify();
  } catch (error) {
    throw (await isProven(layout, target, hmac!.secret)) ? error : unproven(error);
  }
  author?.verify();
  return { bytes, sha256: sha256.digest("hex") };
}
