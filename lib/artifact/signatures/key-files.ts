import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { type SealiftError, usageError } from "../../contract/errors.ts";
import { makePrivateFolder } from "../../support/files.ts";
import { isUsablePublicKey, PUBLIC_KEY_BYTES, publicKeyOf, SEED_BYTES } from "./ed25519.ts";

/** Matches the first line of a PEM file, which names its content. */
const PEM_LABEL = /^-----BEGIN ([A-Z0-9 ]+)-----/;
const PRIVATE_LABEL = "PRIVATE KEY";
const PUBLIC_LABEL = "PUBLIC KEY";

/** DER prefixes of the 32 bytes of an Ed25519 key (RFC 8410): PKCS #8 and SubjectPublicKeyInfo. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/**
 * Decodes an Ed25519 key of 32 bytes, raw, hexadecimal, base64 or PEM, recognized by content
 * (docs/contract/project-artifact.md).
 */
function decodeKey(
  content: Uint8Array,
  fromPem: (text: string) => KeyObject,
  field: "d" | "x",
): Uint8Array | undefined {
  if (content.length === 32) return Uint8Array.from(content);
  const text = Buffer.from(content).toString("latin1").trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Uint8Array.from(Buffer.from(text, "hex"));
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Uint8Array.from(Buffer.from(text, "base64"));
  if (!PEM_LABEL.test(text)) return undefined;
  try {
    const key = fromPem(text);
    if (key.asymmetricKeyType !== "ed25519") return undefined;
    const value = key.export({ format: "jwk" })[field];
    return value === undefined ? undefined : Uint8Array.from(Buffer.from(value, "base64url"));
  } catch {
    return undefined;
  }
}

/** Returns the content that a PEM file names; undefined for the other forms. */
const labelOf = (content: Uint8Array): string | undefined =>
  PEM_LABEL.exec(Buffer.from(content).toString("latin1").trim())?.[1];

export const keyFileInvalid = (message: string, hint: string): SealiftError =>
  usageError("key_file_invalid", message, { hint });

/** Fewest distinct bytes in 32 random ones; fewer occur once in 10^20 seeds. */
const MIN_DISTINCT_BYTES = 16;

/** Seeds published in specifications: RFC 8032, section 7.1, and RFC 8410, section 10.3. */
const PUBLISHED = new Set([
  "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
  "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
  "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
  "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
  "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
  "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842",
]);

/** True for a seed that is a pattern (repeated or counted bytes), or one that everybody knows. */
function isGuessableSeed(seed: Uint8Array): boolean {
  if (new Set(seed).size < MIN_DISTINCT_BYTES) return true;
  const step = (seed[1]! - seed[0]!) & 0xff;
  if (seed.every((byte, index) => index === 0 || ((byte - seed[index - 1]!) & 0xff) === step)) return true;
  return PUBLISHED.has(Buffer.from(seed).toString("hex"));
}

/**
 * Returns the 32-byte seed of a signer's private key.
 *
 * @param name of the key in messages, for example its path; the content is never shown
 * @throws UsageError `key_file_invalid`, also for a public key and for a seed that anybody could guess
 */
export function parsePrivateKey(content: Uint8Array, name: string): Uint8Array {
  if (labelOf(content) === PUBLIC_LABEL)
    throw keyFileInvalid(
      `${name} holds a public key, and a private one is needed.`,
      "Give signer.key, not signer.pub.",
    );
  const seed = decodeKey(content, (pem) => createPrivateKey(pem), "d");
  if (seed?.length !== SEED_BYTES)
    throw keyFileInvalid(
      `${name} holds no Ed25519 private key.`,
      "It takes PEM, or the raw 32-byte seed, or hex or base64 of it; `sealift signer create` makes one.",
    );
  if (isGuessableSeed(seed))
    throw keyFileInvalid(
      `${name} holds a private key that anybody can guess: a pattern, or one from a published example.`,
      "Make a new one with `sealift signer create`, and pin its public key on the hosts.",
    );
  return seed;
}

/**
 * Returns the 32 bytes of a signer's public key; rejects one that no strict verifier could ever accept.
 *
 * @throws UsageError `key_file_invalid`, also for a private key, which does not belong on a host
 */
export function parsePublicKey(content: Uint8Array | string, name: string): Uint8Array {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const label = labelOf(bytes);
  if (label?.endsWith(PRIVATE_LABEL) === true)
    throw keyFileInvalid(
      `${name} holds a private key, and a public one is needed.`,
      "Give signer.pub. Keep signer.key where you publish, and nowhere else.",
    );
  const key = publicKeyIn(bytes);
  if (key?.length === PUBLIC_KEY_BYTES && isUsablePublicKey(key)) return key;
  throw keyFileInvalid(
    `${name} holds no usable Ed25519 public key.`,
    "It takes PEM, or the raw 32 bytes, or hex or base64 of them, as in signer.pub.",
  );
}

/** Splits a text with several keys: PEM blocks, or one key per line in hex or base64, with comments after `#`. */
function partsOf(content: Uint8Array): Uint8Array[] {
  if (content.length === PUBLIC_KEY_BYTES) return [content];
  const text = Buffer.from(content).toString("latin1");
  const blocks = text.match(/-----BEGIN [^-]+-----[^]+?-----END [^-]+-----/g);
  const lines = blocks ?? text.split("\n").map((line) => line.replace(/#.*/, "").trim());
  const parts = lines.filter((line) => line !== "").map((line) => Buffer.from(line, "latin1"));
  return parts.length === 0 ? [content] : parts;
}

/**
 * Returns the public keys of a file, one or several, like {@link parsePublicKey}.
 *
 * @throws UsageError `key_file_invalid` when one of them is not usable
 */
export const parsePublicKeys = (content: Uint8Array, name: string): Uint8Array[] =>
  partsOf(content).map((part) => parsePublicKey(part, name));

function pem(label: string, der: Buffer): string {
  return `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;
}

/** Returns the public key that a file holds, whether a verifier would accept it or not; undefined for anything else. */
export const publicKeyIn = (content: Uint8Array): Uint8Array | undefined =>
  decodeKey(content, (text) => createPublicKey(text), "x");

/**
 * Makes a key pair in PEM, which names its content: `signer.key` (mode 0600, PKCS #8) and `signer.pub`
 * (SubjectPublicKeyInfo).
 *
 * @throws UsageError `usage` when one of them exists: a key is never replaced
 */
export async function generateSigner(
  folder: string,
): Promise<{ privateKeyFile: string; publicKeyFile: string; publicKey: string }> {
  const seed = randomBytes(SEED_BYTES);
  const publicKey = publicKeyOf(seed);
  const privateKeyFile = join(folder, "signer.key");
  const publicKeyFile = join(folder, "signer.pub");
  await makePrivateFolder(folder);
  let made = false;
  try {
    await using privateFile = await open(privateKeyFile, "wx", 0o600);
    made = true;
    await privateFile.writeFile(pem(PRIVATE_LABEL, Buffer.concat([PKCS8_PREFIX, seed])));
    await privateFile.sync();
    await using publicFile = await open(publicKeyFile, "wx", 0o644);
    await publicFile.writeFile(pem(PUBLIC_LABEL, Buffer.concat([SPKI_PREFIX, publicKey])));
    await publicFile.sync();
  } catch (error) {
    // Half a pair is useless, and the next attempt would take it for a key in use.
    if (made) await rm(privateKeyFile, { force: true });
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw usageError("usage", `${folder} holds a signer.key or signer.pub already.`, {
      hint: "Choose another folder with --out.",
    });
  }
  return { privateKeyFile, publicKeyFile, publicKey: Buffer.from(publicKey).toString("hex") };
}

/** Length of a signing secret in bytes: what HMAC-SHA256 uses. */
const SECRET_BYTES = 32;

/**
 * Writes a new signing secret for archives to `signing.secret` (0600).
 *
 * @returns its path
 * @throws UsageError `usage` when the file is there
 */
export async function generateSecret(folder: string): Promise<string> {
  const path = join(folder, "signing.secret");
  await makePrivateFolder(folder);
  try {
    await using file = await open(path, "wx", 0o600);
    await file.writeFile(`${randomBytes(SECRET_BYTES).toString("base64url")}\n`);
    await file.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw usageError("usage", `${path} is there already.`, { hint: "Choose another folder with --out." });
  }
  return path;
}
