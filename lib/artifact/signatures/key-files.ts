import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { isUsablePublicKey, PUBLIC_KEY_BYTES, publicKeyOf, SEED_BYTES } from "./ed25519.ts";

/** The forms of an Ed25519 key of 32 bytes: raw, hexadecimal, base64 or PEM, recognised by content (docs/contract/project-artifact.md). */
function decodeKey(
  content: Uint8Array,
  fromPem: (text: string) => KeyObject,
  field: "d" | "x",
): Uint8Array | undefined {
  if (content.length === 32) return Uint8Array.from(content);
  const text = Buffer.from(content).toString("latin1").trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Uint8Array.from(Buffer.from(text, "hex"));
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Uint8Array.from(Buffer.from(text, "base64"));
  if (!text.startsWith("-----BEGIN ")) return undefined;
  try {
    const key = fromPem(text);
    if (key.asymmetricKeyType !== "ed25519") return undefined;
    const value = key.export({ format: "jwk" })[field];
    return value === undefined ? undefined : Uint8Array.from(Buffer.from(value, "base64url"));
  } catch {
    return undefined;
  }
}

/**
 * The 32-byte seed of a signer's private key.
 *
 * @param name how messages call the key, for example its path; the content is never shown
 * @throws UsageError `key_file_invalid`
 */
export function parsePrivateKey(content: Uint8Array, name: string): Uint8Array {
  const seed = decodeKey(content, (pem) => createPrivateKey(pem), "d");
  if (seed?.length === SEED_BYTES) return seed;
  throw usageError("key_file_invalid", `${name} holds no Ed25519 private key.`, {
    hint: "It takes the raw 32-byte seed, or hex, base64 or PEM of it; `sealift keygen` makes one.",
  });
}

/**
 * The 32 bytes of a signer's public key, refused when no strict verifier could ever accept it.
 *
 * @throws UsageError `key_file_invalid`
 */
export function parsePublicKey(content: Uint8Array | string, name: string): Uint8Array {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const key = decodeKey(bytes, (pem) => createPublicKey(pem), "x");
  if (key?.length === PUBLIC_KEY_BYTES && isUsablePublicKey(key)) return key;
  throw usageError("key_file_invalid", `${name} holds no usable Ed25519 public key.`, {
    hint: "It takes the raw 32 bytes, or hex, base64 or PEM of them, as in signer.pub.",
  });
}

/**
 * Makes a key pair: `signer.key` (mode 0600, the raw 32-byte seed) and `signer.pub` (the public key in hex).
 *
 * @throws UsageError `usage` when one of them exists: a key is never replaced
 */
export async function generateSigner(
  folder: string,
): Promise<{ privateKeyFile: string; publicKeyFile: string; publicKey: string }> {
  const seed = randomBytes(SEED_BYTES);
  const publicKey = Buffer.from(publicKeyOf(seed)).toString("hex");
  const privateKeyFile = join(folder, "signer.key");
  const publicKeyFile = join(folder, "signer.pub");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let made = false;
  try {
    await using privateFile = await open(privateKeyFile, "wx", 0o600);
    made = true;
    await privateFile.writeFile(seed);
    await privateFile.sync();
    await using publicFile = await open(publicKeyFile, "wx", 0o644);
    await publicFile.writeFile(`${publicKey}\n`);
    await publicFile.sync();
  } catch (error) {
    // Half a pair helps nobody, and the next try would take it for a key in use.
    if (made) await rm(privateKeyFile, { force: true });
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw usageError("usage", `${folder} holds a signer.key or signer.pub already.`, {
      hint: "Choose another folder with --out.",
    });
  }
  return { privateKeyFile, publicKeyFile, publicKey };
}
