import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { SealedSecret } from "../records/secrets.ts";
import type { Kek } from "./kek-file.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Returns the associated data that binds a ciphertext to its context. Lengths go first, so that no two lists of names
 * give the same bytes.
 */
const associated = (context: readonly string[]): Buffer =>
  Buffer.from(context.map((name) => `${Buffer.byteLength(name)}:${name}`).join(""));

/** Seals a secret under a KEK with a fresh random nonce. */
export function seal(secret: Uint8Array, kek: Kek, context: readonly string[]): SealedSecret {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", kek.key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associated(context));
  const bytes = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
  return { kekId: kek.id, sealed: bytes.toString("base64") };
}

/** Opens a sealed secret. @throws when the bytes, the KEK or the context are not those of the sealing */
export function unseal({ sealed }: SealedSecret, kek: Kek, context: readonly string[]): Buffer {
  const bytes = Buffer.from(sealed, "base64");
  const decipher = createDecipheriv("aes-256-gcm", kek.key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(associated(context));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES)), decipher.final()]);
}

/** Returns the context that an artifact's DEK is bound to (docs/contract/deploy.md). */
export const dekContext = (projectId: string, artifactId: string) => ["dek", projectId, artifactId] as const;
export const secretContext = (name: string) => ["secret", name] as const;
