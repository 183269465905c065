import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { artifactError } from "../../contract/errors.ts";

/**
 * Sealing of small texts to one reader, in the form of age v1 with one X25519 stanza (age-encryption.org/v1), so that
 * `age` of others opens and makes them. Whoever seals is not told: the content says who signed it.
 */

const VERSION = "age-encryption.org/v1";
const X25519_INFO = `${VERSION}/X25519`;
const KEY_BYTES = 32;
const FILE_KEY_BYTES = 16;
const TAG_BYTES = 16;
const NONCE_BYTES = 16;
/** Plaintext of one chunk, in bytes. */
const CHUNK_BYTES = 64 * 1024;
/** Header with one stanza: the version, two lines of 43 to 60 characters, and the line of the MAC. */
const MAX_HEADER_BYTES = 512;
const NO_NONCE = Buffer.alloc(12);

const SPKI = Buffer.from("302a300506032b656e032100", "hex");
const PKCS8 = Buffer.from("302e020100300506032b656e04220420", "hex");

/** Returns the X25519 key of 32 raw bytes. */
const publicKeyOf = (raw: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI, raw]), format: "der", type: "spki" });
const privateKeyOf = (raw: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: "der", type: "pkcs8" });
const rawOf = (key: KeyObject): Buffer => key.export({ format: "der", type: "spki" }).subarray(-KEY_BYTES);

/** Returns the public X25519 key, 32 bytes, of a private one. */
export const x25519PublicKey = (secret: Uint8Array): Buffer => rawOf(createPublicKey(privateKeyOf(secret)));

const hkdf = (key: Uint8Array, salt: Uint8Array, info: string): Buffer =>
  Buffer.from(hkdfSync("sha256", key, salt, info, KEY_BYTES));

function encrypt(key: Uint8Array, nonce: Uint8Array, text: Uint8Array): Buffer {
  const cipher = createCipheriv("chacha20-poly1305", key, nonce, { authTagLength: TAG_BYTES });
  return Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error for a wrong tag */
function decrypt(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv("chacha20-poly1305", key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64").replace(/=+$/, "");

/** Decodes base64 without padding, in its one form. */
function unbase64(text: string, bytes: number): Buffer | undefined {
  const decoded = Buffer.from(text, "base64");
  return decoded.length === bytes && base64(decoded) === text ? decoded : undefined;
}

/** Returns the key that wraps a file key. @throws Error for a share that gives nothing secret */
function wrapKey(mine: KeyObject, theirs: Uint8Array, share: Uint8Array, reader: Uint8Array): Buffer {
  const secret = diffieHellman({ privateKey: mine, publicKey: publicKeyOf(theirs) });
  if (secret.every((byte) => byte === 0)) throw new Error("the share is of low order");
  return hkdf(secret, Buffer.concat([share, reader]), X25519_INFO);
}

const macOf = (fileKey: Uint8Array, header: string): Buffer =>
  createHmac("sha256", hkdf(fileKey, Buffer.alloc(0), "header"))
    .update(header, "latin1")
    .digest();

/** Returns the nonce of a chunk: its number in 11 bytes, and whether it is the last. */
function chunkNonce(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(index, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/**
 * Seals a text to a reader.
 *
 * @param reader public X25519 key, 32 bytes
 * @throws Error for a key of low order
 */
export function seal(text: Uint8Array, reader: Uint8Array): Buffer {
  const fileKey = randomBytes(FILE_KEY_BYTES);
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const share = rawOf(publicKey);
  const wrapped = encrypt(wrapKey(privateKey, reader, share, reader), NO_NONCE, fileKey);
  const header = `${VERSION}\n-> X25519 ${base64(share)}\n${base64(wrapped)}\n---`;
  const nonce = randomBytes(NONCE_BYTES);
  const payloadKey = hkdf(fileKey, nonce, "payload");
  const chunks: Buffer[] = [];
  const count = Math.max(1, Math.ceil(text.length / CHUNK_BYTES));
  for (let index = 0; index < count; index++) {
    const chunk = text.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
    chunks.push(encrypt(payloadKey, chunkNonce(index, index === count - 1), chunk));
  }
  const head = Buffer.from(`${header} ${base64(macOf(fileKey, header))}\n`, "latin1");
  return Buffer.concat([head, nonce, ...chunks]);
}

/** Tells whether a public X25519 key keeps a secret: one of low order does not. @param reader 32 bytes */
export function isUsableReader(reader: Uint8Array): boolean {
  try {
    seal(Buffer.alloc(0), reader);
    return true;
  } catch {
    return false;
  }
}

const HEADER = new RegExp(
  `^(${VERSION}\\n-> X25519 ([A-Za-z0-9+/]{43})\\n([A-Za-z0-9+/]{43})\\n---) ([A-Za-z0-9+/]{43})\\n`,
);

/** Returns the number of bytes that a sealed text of so many has at most. */
export const sealedBytes = (bytes: number): number =>
  MAX_HEADER_BYTES + NONCE_BYTES + bytes + TAG_BYTES * Math.max(1, Math.ceil(bytes / CHUNK_BYTES));

/**
 * Opens what was sealed to a reader: exactly one stanza of X25519, and every byte of it authentic.
 *
 * @param secret private X25519 key of the reader, 32 bytes
 * @param maxBytes most bytes of the text
 * @throws ArtifactError `sealed_invalid`
 */
export function openSealed(sealed: Uint8Array, secret: Uint8Array, maxBytes: number): Buffer {
  if (sealed.length > sealedBytes(maxBytes)) throw invalid(`it has more than ${sealedBytes(maxBytes)} bytes`);
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const [head, header = "", share = "", body = "", mac = ""] =
    HEADER.exec(bytes.subarray(0, MAX_HEADER_BYTES).toString("latin1")) ?? [];
  if (head === undefined) throw invalid("its header is not that of age with one X25519 stanza");
  const ephemeral = unbase64(share, KEY_BYTES);
  const wrapped = unbase64(body, FILE_KEY_BYTES + TAG_BYTES);
  const stated = unbase64(mac, KEY_BYTES);
  if (ephemeral === undefined || wrapped === undefined || stated === undefined)
    throw invalid("its base64 is not in the one form");
  let fileKey: Buffer;
  try {
    fileKey = decrypt(wrapKey(privateKeyOf(secret), ephemeral, ephemeral, x25519PublicKey(secret)), NO_NONCE, wrapped);
  } catch (cause) {
    throw invalid("it was sealed to another key", cause);
  }
  if (!timingSafeEqual(macOf(fileKey, header), stated)) throw invalid("its header was changed");
  return openPayload(bytes.subarray(head.length), fileKey);
}

function openPayload(payload: Buffer, fileKey: Uint8Array): Buffer {
  const key = hkdf(fileKey, payload.subarray(0, NONCE_BYTES), "payload");
  const chunks = payload.subarray(NONCE_BYTES);
  const size = CHUNK_BYTES + TAG_BYTES;
  const count = Math.ceil(chunks.length / size);
  const lastBytes = chunks.length - (count - 1) * size;
  if (payload.length < NONCE_BYTES + TAG_BYTES || lastBytes < TAG_BYTES) throw invalid("it was cut short");
  if (count > 1 && lastBytes === TAG_BYTES) throw invalid("its last chunk is empty");
  const texts: Buffer[] = [];
  try {
    for (let index = 0; index < count; index++)
      texts.push(
        decrypt(key, chunkNonce(index, index === count - 1), chunks.subarray(index * size, (index + 1) * size)),
      );
  } catch (cause) {
    throw invalid("its content was changed or cut short", cause);
  }
  return Buffer.concat(texts);
}

const invalid = (why: string, cause?: unknown) =>
  artifactError("sealed_invalid", `The sealed text cannot be opened: ${why}.`, {
    ...(cause !== undefined && { cause }),
    hint: "It was made for another host, or changed on its way.",
  });
