import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type Hash,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";

/** Length of a seed in bytes (RFC 8032); so for the next constants. */
export const SEED_BYTES = 32;
export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;
/** Length of R, the first half of a signature, in bytes. */
export const R_BYTES = 32;

const { Point } = ed25519;
/**
 * Base point without the precomputed table of `Point.BASE`: building it takes 45 ms, too long for programs with a few
 * signatures.
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

/** Decodes a point strictly: canonical encoding, on the curve, not of low order. Undefined for anything else. */
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
 * Verifies an Ed25519 signature as the message passes: R and A are known before the first byte, so SHA-512(R ‖ A ‖ M)
 * runs incrementally and one equation, [S]B = R + [k]A, ends it. Strict: S < L, canonical encodings, no low-order A or
 * R.
 */
export class Ed25519Verifier {
  readonly #hash: Hash;
  readonly #a: InstanceType<typeof Point> | undefined;
  readonly #encodedR: Uint8Array;
  readonly #signature: Uint8Array;

  /**
   * @param publicKey 32 bytes
   * @param signature 64 bytes, or only R, its first 32: then {@link verify} is given the whole. A fault in either
   *   makes {@link verify} return false
   */
  constructor(publicKey: Uint8Array, signature: Uint8Array) {
    this.#signature = signature;
    this.#encodedR = Uint8Array.from(signature.subarray(0, R_BYTES));
    this.#a = publicKey.length === PUBLIC_KEY_BYTES ? strictPoint(publicKey) : undefined;
    this.#hash = createHash("sha512").update(this.#encodedR).update(publicKey);
  }

  update(chunk: Uint8Array): this {
    this.#hash.update(chunk);
    return this;
  }

  /** Ends the message; call it once. @param signature with the same R */
  verify(signature = this.#signature): boolean {
    const digest = this.#hash.digest();
    if (signature.length !== SIGNATURE_BYTES) return false;
    if (!equalBytes(signature.subarray(0, R_BYTES), this.#encodedR)) return false;
    const s = littleEndian(signature.subarray(R_BYTES));
    const r = strictPoint(this.#encodedR);
    if (this.#a === undefined || r === undefined || s >= ORDER) return false;
    const k = littleEndian(digest) % ORDER;
    return BASE.multiplyUnsafe(s).subtract(this.#a.multiplyUnsafe(k)).equals(r);
  }
}

/** DER prefixes of a private key, followed by the seed, and of a public key (RFC 8410, sections 4 and 7). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI = Buffer.from("302a300506032b6570032100", "hex");

/**
 * Verifies a signature of a message that is there whole, as strictly as {@link Ed25519Verifier}: the same points and
 * scalar are refused, and Node checks the equation, a hundred times as fast as our own arithmetic does at first.
 */
export function isSignedBy(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES || !isUsablePublicKey(publicKey)) return false;
  const [r, s] = [signature.subarray(0, R_BYTES), signature.subarray(R_BYTES)];
  if (strictPoint(r) === undefined || littleEndian(s) >= ORDER) return false;
  const key = createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: "der", type: "spki" });
  return verify(null, message, key, signature);
}

/**
 * Returns the public key of a 32-byte seed. Computed by Node: programs need it at their start, and the tables of our
 * own arithmetic take 50 ms to build.
 *
 * @throws RangeError for a seed of another length
 */
export const publicKeyOf = (seed: Uint8Array): Uint8Array =>
  createPublicKey(privateKeyOf(seed)).export({ format: "der", type: "spki" }).subarray(-PUBLIC_KEY_BYTES);

function privateKeyOf(seed: Uint8Array): KeyObject {
  if (seed.length !== SEED_BYTES) throw new RangeError(`A seed has ${SEED_BYTES} bytes, not ${seed.length}.`);
  return createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
}

/**
 * Signs a message that is there whole, deterministically as RFC 8032 says.
 *
 * @returns 64 bytes
 * @throws RangeError for a seed of another length
 */
export const signMessage = (seed: Uint8Array, message: Uint8Array): Uint8Array =>
  sign(null, message, privateKeyOf(seed));

/** Derives the secret scalar and the nonce prefix from a seed (RFC 8032, section 5.1.5). */
function expand(seed: Uint8Array): { scalar: bigint; prefix: Uint8Array } {
  const digest = createHash("sha512").update(seed).digest();
  digest[0]! &= 0b1111_1000;
  digest[31] = (digest[31]! & 0b0111_1111) | 0b0100_0000;
  return { scalar: littleEndian(digest.subarray(0, 32)) % ORDER, prefix: digest.subarray(32) };
}

/** Starts the hash of a nonce with the secret prefix of the seed (RFC 8032, section 5.1.6, step 2). */
export const nonceHash = (seed: Uint8Array): Hash => createHash("sha512").update(expand(seed).prefix);

/**
 * Signs in pure Ed25519 in one pass: the nonce is given, so R is known before the first byte and S after the last one.
 * Two messages under one nonce would reveal the key: an instance makes one signature at most.
 */
export class OnePassSigner implements Disposable {
  /** R ‖ A, which a verifier needs before the first byte. */
  readonly start: Uint8Array;
  readonly #seed: Uint8Array;
  #nonce: Uint8Array | undefined;
  readonly #hash: Hash;

  /**
   * @param seed 32 bytes
   * @param nonce 64 bytes that are secret, uniform and never used for another message; wiped with the signature
   * @throws RangeError for a seed of another length
   */
  constructor(seed: Uint8Array, nonce: Uint8Array) {
    const publicKey = publicKeyOf(seed);
    const r = BASE.multiply(littleEndian(nonce) % ORDER).toBytes();
    this.start = Buffer.concat([r, publicKey]);
    this.#seed = seed;
    this.#nonce = nonce;
    this.#hash = createHash("sha512").update(this.start);
  }

  update(chunk: Uint8Array): void {
    this.#hash.update(chunk);
  }

  /** Ends the message. @returns the 64 bytes of the signature. @throws Error when it was called before */
  sign(): Uint8Array {
    if (this.#nonce === undefined) throw new Error("A nonce serves for one signature.");
    const r = littleEndian(this.#nonce);
    this[Symbol.dispose]();
    const k = littleEndian(this.#hash.digest()) % ORDER;
    const s = (r + k * expand(this.#seed).scalar) % ORDER;
    return Buffer.concat([this.start.subarray(0, R_BYTES), toLittleEndian(s)]);
  }

  /** Wipes the nonce. */
  [Symbol.dispose](): void {
    this.#nonce?.fill(0);
    this.#nonce = undefined;
  }
}

/** Compares two byte strings in constant time. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
