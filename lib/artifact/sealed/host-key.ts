import { createHash, hkdfSync, randomBytes } from "node:crypto";
import { publicKeyOf } from "../signatures/ed25519.ts";
import { x25519PublicKey } from "./age.ts";

/** Bytes of the seed of a host's key. */
export const HOST_SEED_BYTES = 32;

const AGE_INFO = "sealift host age v1";
const SIGN_INFO = "sealift host sign v1";

/** Public halves of a host's key, 64 hexadecimal digits each. */
export interface HostPublicKeys {
  ed25519: string;
  x25519: string;
}

/** Key of a host: what is sealed to it, and what it signs. */
export interface HostKey extends HostPublicKeys {
  /** Private X25519 key, 32 bytes. */
  secret: Buffer;
  /** Ed25519 seed, 32 bytes. */
  seed: Buffer;
  /** SHA-256 of the canonical JSON of both public keys, hexadecimal. */
  fingerprint: string;
}

export const newHostSeed = (): Buffer => randomBytes(HOST_SEED_BYTES);

/** Derives the key of a host from its seed of 32 bytes (HKDF-SHA-256 with an empty salt). */
export function hostKeyOf(hostSeed: Uint8Array): HostKey {
  const derived = (info: string): Buffer => Buffer.from(hkdfSync("sha256", hostSeed, Buffer.alloc(0), info, 32));
  const secret = derived(AGE_INFO);
  const seed = derived(SIGN_INFO);
  const keys = {
    ed25519: Buffer.from(publicKeyOf(seed)).toString("hex"),
    x25519: x25519PublicKey(secret).toString("hex"),
  };
  return { ...keys, secret, seed, fingerprint: hostFingerprint(keys) };
}

/** Returns the fingerprint of a host's public keys, 64 hexadecimal digits. */
export const hostFingerprint = ({ ed25519, x25519 }: HostPublicKeys): string =>
  createHash("sha256").update(JSON.stringify({ ed25519, x25519 })).digest("hex");
