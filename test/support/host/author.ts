/** An author's signature over archives that a hub hands to a host. */
import { ed25519 } from "@noble/curves/ed25519.js";
import type { Variant } from "./marketplace-host.ts";

export interface Author {
  seed: Uint8Array;
  publicKey: Buffer;
  /** The headers of the install route. */
  headers(bytes: Uint8Array): Record<string, string>;
}

export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

export function newAuthor(seed: Uint8Array = ed25519.utils.randomSecretKey()): Author {
  const publicKey = Buffer.from(ed25519.getPublicKey(seed));
  return {
    ...{ seed, publicKey },
    headers: (bytes) => ({
      "x-signature-ed25519": base64(ed25519.sign(bytes, seed)),
      "x-signer": base64(publicKey),
    }),
  };
}

/** A host that pins these authors, and whose plugins say which version they are. */
export const pinning = (...authors: readonly Author[]): Variant => ({
  source: { trust: { pinned: authors.map(({ publicKey }) => publicKey) }, allowVersionMismatch: false },
});
