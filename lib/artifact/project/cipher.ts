import { createCipheriv, createDecipheriv, type DecipherGCM, randomBytes } from "node:crypto";
import { Transform, type TransformCallback } from "node:stream";
import { artifactError, usageError } from "../../contract/errors.ts";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import { DEK_BYTES, MAX_PLAINTEXT_BYTES, NONCE_BYTES, TAG_BYTES } from "../limits.ts";
import type { Ed25519Verifier } from "../signatures/ed25519.ts";

const ALGORITHM = "aes-256-gcm";

/** A fresh data-encryption key: 32 random bytes, for one artifact. */
export const newDek = (): Buffer => randomBytes(DEK_BYTES);

/**
 * Plaintext in, `nonce ‖ ciphertext ‖ tag` out (docs/contract/project-artifact.md).
 *
 * @param nonce only tests give it: a nonce is never used twice with one key
 * @throws UsageError `artifact_too_large` beyond 2^36 - 32 bytes of plaintext
 */
export class SealingCipher extends Transform {
  readonly #cipher;
  readonly #pace = paceBuffers();
  #bytes = 0;

  constructor(dek: Uint8Array, nonce: Uint8Array = randomBytes(NONCE_BYTES)) {
    super();
    this.#cipher = createCipheriv(ALGORITHM, dek, nonce, { authTagLength: TAG_BYTES });
    this.push(Buffer.from(nonce));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_PLAINTEXT_BYTES) {
      callback(
        usageError(
          "artifact_too_large",
          "The compressed project is larger than the 64 GiB that one artifact can hold.",
          {
            hint: "Leave files out, or split the project.",
          },
        ),
      );
      return;
    }
    this.#pace(chunk.length);
    callback(null, this.#cipher.update(chunk));
  }

  override _flush(callback: TransformCallback): void {
    this.push(this.#cipher.final());
    callback(null, this.#cipher.getAuthTag());
  }
}

/**
 * `nonce ‖ ciphertext ‖ tag` in, **unauthenticated** plaintext out; the last 16 bytes are held back as the tag. What comes out may
 * go to a private staging folder and nowhere else until the stream has ended without an error: then the Ed25519 signature over
 * every byte and the tag both hold, in this order, so that changed bytes are told apart from a wrong key.
 *
 * @throws ArtifactError `signature_invalid`, `ciphertext_truncated`, `decryption_failed`
 */
export class OpeningCipher extends Transform {
  readonly #dek: Uint8Array;
  readonly #verifier: Ed25519Verifier;
  readonly #pace = paceBuffers();
  #decipher: DecipherGCM | undefined;
  #held: Buffer = Buffer.alloc(0);

  constructor(dek: Uint8Array, verifier: Ed25519Verifier) {
    super();
    this.#dek = dek;
    this.#verifier = verifier;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#verifier.update(chunk);
    this.#pace(chunk.length);
    callback(null, this.#decrypt(chunk));
  }

  #decrypt(chunk: Buffer): Buffer | undefined {
    if (this.#decipher === undefined) {
      const start = Buffer.concat([this.#held, chunk]);
      if (start.length < NONCE_BYTES) {
        this.#held = start;
        return undefined;
      }
      this.#decipher = createDecipheriv(ALGORITHM, this.#dek, start.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      this.#held = Buffer.alloc(0);
      return this.#decrypt(start.subarray(NONCE_BYTES));
    }
    const available = this.#held.length + chunk.length - TAG_BYTES;
    if (available <= 0) {
      this.#held = Buffer.concat([this.#held, chunk]);
      return undefined;
    }
    const fromHeld = this.#held.subarray(0, available);
    const fromChunk = chunk.subarray(0, Math.max(0, available - this.#held.length));
    const heldRest = this.#held.subarray(fromHeld.length);
    this.#held = Buffer.concat([heldRest, chunk.subarray(fromChunk.length)]);
    const first = fromHeld.length > 0 ? this.#decipher.update(fromHeld) : undefined;
    if (fromChunk.length === 0) return first;
    // The 16 bytes of an earlier chunk go ahead on their own: joining them would copy the whole chunk.
    if (first !== undefined) this.push(first);
    return this.#decipher.update(fromChunk);
  }

  override _flush(callback: TransformCallback): void {
    if (!this.#verifier.verify()) {
      callback(
        artifactError(
          "signature_invalid",
          "The Ed25519 signature does not verify: these are not the bytes that the signer made.",
          {
            hint: "Nothing was installed. Deploy again; if it stays so, ask the publisher and the hub's operator.",
          },
        ),
      );
      return;
    }
    if (this.#decipher === undefined || this.#held.length < TAG_BYTES) {
      callback(artifactError("ciphertext_truncated", "The artifact is too short to hold a nonce and a tag."));
      return;
    }
    try {
      this.#decipher.setAuthTag(this.#held);
      callback(null, this.#decipher.final());
    } catch (cause) {
      callback(
        artifactError(
          "decryption_failed",
          "The artifact is signed correctly, but the key that the hub released does not open it.",
          {
            cause,
            hint: "Ask the publisher to publish a new version.",
          },
        ),
      );
    }
  }
}
