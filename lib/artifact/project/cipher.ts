import { createCipheriv, createDecipheriv, type DecipherGCM, randomBytes } from "node:crypto";
import { artifactError, usageError } from "../../contract/errors.ts";
import { DEK_BYTES, MAX_PLAINTEXT_BYTES, NONCE_BYTES, TAG_BYTES } from "../limits.ts";

const ALGORITHM = "aes-256-gcm";

/** Check of bytes as they pass, such as that of a signature. */
export interface PassingCheck {
  update(chunk: Uint8Array): unknown;
  /** Returns whether the bytes are those that they should be. */
  verify(): boolean;
}

/** Makes a data encryption key: 32 random bytes, for one artifact. */
export const newDek = (): Buffer => randomBytes(DEK_BYTES);

/**
 * Encrypts plaintext to `nonce ‖ ciphertext ‖ tag` (docs/contract/project-artifact.md), in buffers of its own. Has
 * finished with a chunk of plaintext when it requests the next one.
 *
 * @param nonce for tests only: a nonce is never used twice with one key
 * @throws UsageError `artifact_too_large` beyond 2^36 - 32 bytes of plaintext
 */
export async function* sealed(
  plaintext: AsyncIterable<Uint8Array>,
  dek: Uint8Array,
  nonce: Uint8Array = randomBytes(NONCE_BYTES),
): AsyncGenerator<Buffer> {
  const cipher = createCipheriv(ALGORITHM, dek, nonce, { authTagLength: TAG_BYTES });
  yield Buffer.from(nonce);
  let bytes = 0;
  for await (const chunk of plaintext) {
    bytes += chunk.length;
    if (bytes > MAX_PLAINTEXT_BYTES) {
      throw usageError(
        "artifact_too_large",
        "The compressed project is larger than the 64 GiB that one artifact can hold.",
        { hint: "Leave files out, or split the project." },
      );
    }
    yield cipher.update(chunk);
  }
  // GCM buffers nothing.
  cipher.final();
  yield cipher.getAuthTag();
}

/**
 * Decrypts `nonce ‖ ciphertext ‖ tag` to **unauthenticated** plaintext; the last 16 bytes are held back as the tag.
 * Write the output only to a private staging folder until {@link finish} has returned. Then the Ed25519 signature over
 * every byte and the tag are both verified, in this order, which distinguishes changed bytes from a wrong key.
 */
export class OpeningCipher {
  readonly #dek: Uint8Array;
  readonly #verifier: PassingCheck;
  #decipher: DecipherGCM | undefined;
  #held: Buffer = Buffer.alloc(0);

  constructor(dek: Uint8Array, verifier: PassingCheck) {
    this.#dek = dek;
    this.#verifier = verifier;
  }

  /** Decrypts the next bytes. @returns buffers of their own, none or up to two */
  update(chunk: Buffer): Buffer[] {
    this.#verifier.update(chunk);
    return this.#decrypt(chunk);
  }

  #decrypt(chunk: Buffer): Buffer[] {
    if (this.#decipher === undefined) {
      const start = Buffer.concat([this.#held, chunk]);
      if (start.length < NONCE_BYTES) {
        this.#held = start;
        return [];
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
      return [];
    }
    const fromHeld = this.#held.subarray(0, available);
    const fromChunk = chunk.subarray(0, Math.max(0, available - this.#held.length));
    this.#held = Buffer.concat([this.#held.subarray(fromHeld.length), chunk.subarray(fromChunk.length)]);
    // The 16 bytes of an earlier chunk are passed on separately: joining them would copy the whole chunk.
    const decipher = this.#decipher;
    return [fromHeld, fromChunk].filter(({ length }) => length > 0).map((bytes) => decipher.update(bytes));
  }

  /**
   * Ends the bytes.
   *
   * @throws ArtifactError `signature_invalid`, `ciphertext_truncated`, `decryption_failed`
   */
  finish(): void {
    if (!this.#verifier.verify()) {
      throw artifactError(
        "signature_invalid",
        "The Ed25519 signature does not verify: these are not the bytes that the signer made.",
        {
          hint: "Nothing was installed. Deploy again; if it stays so, ask the publisher and the hub's operator.",
        },
      );
    }
    if (this.#decipher === undefined || this.#held.length < TAG_BYTES)
      throw artifactError("ciphertext_truncated", "The artifact is too short to hold a nonce and a tag.");
    try {
      this.#decipher.setAuthTag(this.#held);
      // GCM buffers nothing.
      this.#decipher.final();
    } catch (cause) {
      throw artifactError(
        "decryption_failed",
        "The artifact is signed correctly, but the key that the hub released does not open it.",
        {
          cause,
          hint: "Ask the publisher to publish a new version.",
        },
      );
    }
  }
}
