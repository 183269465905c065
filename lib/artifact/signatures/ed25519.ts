import { createHash, createPrivateKey, createPublicKey, type Hash, timingSafeEqual } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";

/** Lengths in bytes (RFC 8032). */
export const SEED_BYTES = 32;
export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

const { Point } = ed25519;
/**
 * The base point without the table that comes with `Point.BASE`: making it takes 45 ms, which a program that makes or
 * verifies a few signatures does not earn back.
 */
const BASE = Point.fromAffine(Point.BASE.toAffine());
const ORDER = Point.Fn.ORDER;

const littleEndian = (bytes: Uint8Array): bigint => {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]!);
  return value;
};

const toLittleEndian = (value: bigint): Uint8Array => {
  const bytes = new Uint8Array(32);
  for (let i = 0; i < 32; i++, value >>= 8n) bytes[i] = Number(value & 0xffn);
  return bytes;
};

/** Decodes a point strictly: canonical encoding, on the curve, not of low order. `undefined` for anything else. */
function strictPoint(bytes: Uint8Array): InstanceType<typeof Point> | undefined {
  try {
    const point = Point.fromBytes(bytes, false);
    return point.isSmallOrder() ? undefined : point;
  } catch {
    return undefined;
  }
}

/** True when 32 bytes are a public key that a strict verifier can accept at all. */
export function isUsablePublicKey(publicKey: Uint8Array): boolean {
  return publicKey.length === PUBLIC_KEY_BYTES && strictPoint(publicKey) !== undefined;
}

/**
 * Ed25519 verification while the message passes: R and A are known before the first byte, so SHA-512(R ‖ A ‖ M) runs
 * incrementally and one equation, [S]B = R + [k]A, ends it. Strict: S < L, canonical encodings, no low-order A or R.
 */
export class Ed25519Verifier {
  readonly #hash: Hash;
  readonly #a: InstanceType<typeof Point> | undefined;
  readonly #r: InstanceType<typeof Point> | undefined;
  readonly #s: bigint;

  /**
   * @param publicKey 32 bytes
   * @param signature 64 bytes; whatever is wrong with either makes {@link verify} answer false
   */
  constructor(publicKey: Uint8Array, signature: Uint8Array) {
    const sized = publicKey.length === PUBLIC_KEY_BYTES && signature.length === SIGNATURE_BYTES;
    const r = signature.subarray(0, 32);
    this.#s = littleEndian(signature.subarray(32, 64));
    this.#a = sized ? strictPoint(publicKey) : undefined;
    this.#r = sized ? strictPoint(r) : undefined;
    this.#hash = createHash("sha512").update(r).update(publicKey);
  }

  update(chunk: Uint8Array): this {
    this.#hash.update(chunk);
    return this;
  }

  /** Ends the message; call it once. */
  verify(): boolean {
    const digest = this.#hash.digest();
    if (this.#a === undefined || this.#r === undefined || this.#s >= ORDER) return false;
    const k = littleEndian(digest) % ORDER;
    return BASE.multiplyUnsafe(this.#s).subtract(this.#a.multiplyUnsafe(k)).equals(this.#r);
  }
}

/** The beginning of a private key in DER, which a seed ends (RFC 8410, section 7). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * The public key of a 32-byte seed. By Node: programs ask for it at their start, and the tables that our own
 * arithmetic makes first take 50 ms.
 *
 * @throws RangeError for a seed of another length
 */
export function publicKeyOf(seed: Uint8Array): Uint8Array {
  if (seed.length !== SEED_BYTES) throw new RangeError(`A seed has ${SEED_BYTES} bytes, not ${seed.length}.`);
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-PUBLIC_KEY_BYTES);
}

/** The secret scalar and the prefix of nonces that a seed stands for (RFC 8032, section 5.1.5). */
function expand(seed: Uint8Array): { scalar: bigint; prefix: Uint8Array } {
  const digest = createHash("sha512").update(seed).digest();
  digest[0]! &= 0b1111_1000;
  digest[31] = (digest[31]! & 0b0111_1111) | 0b0100_0000;
  return { scalar: littleEndian(digest.subarray(0, 32)) % ORDER, prefix: digest.subarray(32) };
}

/**
 * Pure Ed25519 signing in two passes over a message that is never in memory: `first` sees every byte once, then
 * `second` sees the same bytes again. The caller guarantees that both passes see the same bytes (sign-file.ts).
 */
export class TwoPassSigner {
  readonly #scalar: bigint;
  readonly #publicKey: Uint8Array;
  readonly #nonceHash: Hash;
  #challenge: { hash: Hash; r: bigint; encodedR: Uint8Array } | undefined;

  /** @throws RangeError for a seed that has not 32 bytes */
  constructor(seed: Uint8Array) {
    this.#publicKey = publicKeyOf(seed);
    const { scalar, prefix } = expand(seed);
    this.#scalar = scalar;
    this.#nonceHash = createHash("sha512").update(prefix);
  }

  first(chunk: Uint8Array): void {
    this.#nonceHash.update(chunk);
  }

  second(chunk: Uint8Array): void {
    this.#beginSecondPass().hash.update(chunk);
  }

  /** @returns the 64 bytes of the signature */
  sign(): Uint8Array {
    const { hash, r, encodedR } = this.#beginSecondPass();
    const k = littleEndian(hash.digest()) % ORDER;
    const s = (r + k * this.#scalar) % ORDER;
    const signature = new Uint8Array(SIGNATURE_BYTES);
    signature.set(encodedR);
    signature.set(toLittleEndian(s), 32);
    return signature;
  }

  #beginSecondPass() {
    if (this.#challenge === undefined) {
      const r = littleEndian(this.#nonceHash.digest()) % ORDER;
      const encodedR = BASE.multiply(r).toBytes();
      const hash = createHash("sha512").update(encodedR).update(this.#publicKey);
      this.#challenge = { hash, r, encodedR };
    }
    return this.#challenge;
  }
}

/** Compares two byte strings without telling where they differ. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
