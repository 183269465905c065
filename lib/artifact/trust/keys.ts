import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { usageError } from "../../contract/errors.ts";
import type { RootKey } from "../../contract/trust/root.ts";
import { canonicalJson } from "../../support/documents/canonical-json.ts";
import { isSignedBy, isUsablePublicKey, publicKeyOf, signMessage } from "../signatures/ed25519.ts";
import { parsePrivateKey, parsePublicKey } from "../signatures/key-files.ts";

/** Matches exactly one PEM block of a public key. */
const PEM = /^-----BEGIN PUBLIC KEY-----\n(?:[A-Za-z0-9+/=]{1,76}\n){1,8}-----END PUBLIC KEY-----\n?$/;

/** Returns the id of a key: SHA-256 of its canonical JSON, as securesystemslib and tuf-js compute it. */
export const keyIdOf = (key: RootKey): string => createHash("sha256").update(canonicalJson(key)).digest("hex");

const ed25519KeyOf = (publicKey: Uint8Array): RootKey => ({
  keytype: "ed25519",
  scheme: "ed25519",
  keyval: { public: Buffer.from(publicKey).toString("hex") },
});

function p256KeyOf(key: KeyObject): RootKey {
  const pem = key.export({ format: "pem", type: "spki" });
  return { keytype: "ecdsa", scheme: "ecdsa-sha2-nistp256", keyval: { public: pem.toString() } };
}

const isP256 = ({ asymmetricKeyDetails: details }: KeyObject): boolean => details?.namedCurve === "prime256v1";

/** Decodes a P-256 public key in PEM; undefined for anything else. */
function p256In(pem: string): KeyObject | undefined {
  if (!PEM.test(pem)) return undefined;
  try {
    const key = createPublicKey(pem);
    return isP256(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Public key of a root that can check signatures. */
export interface UsableKey {
  /** Text that is the same for two writings of one key. */
  value: string;
  /** The 32 bytes of an Ed25519 key, hexadecimal; undefined for P-256, which signs no versions. */
  ed25519?: string;
  verifies(message: Uint8Array, signature: Uint8Array): boolean;
}

/** Returns a key that verifies; undefined for a key that no strict verifier accepts. */
export function usableKey({ keytype, keyval: { public: text } }: RootKey): UsableKey | undefined {
  if (keytype === "ed25519") {
    const bytes = Buffer.from(text, "hex");
    if (!isUsablePublicKey(bytes)) return undefined;
    return {
      value: `ed25519 ${text}`,
      ed25519: text,
      verifies: (message, signature) => isSignedBy(bytes, message, signature),
    };
  }
  const key = p256In(text);
  if (key === undefined) return undefined;
  const { x, y } = key.export({ format: "jwk" });
  return {
    value: `p256 ${x} ${y}`,
    verifies: (message, signature) => verify("sha256", message, { key, dsaEncoding: "der" }, signature),
  };
}

/**
 * Reads the public key of a file: Ed25519 in any form of `signer.pub`, or P-256 in PEM.
 *
 * @param name of the key in messages
 * @throws UsageError `key_file_invalid`, also for a private key
 */
export function publicRootKey(content: Uint8Array, name: string): RootKey {
  const pem = p256In(Buffer.from(content).toString("latin1").replaceAll("\r\n", "\n"));
  return pem === undefined ? ed25519KeyOf(parsePublicKey(content, name)) : p256KeyOf(pem);
}

/** Returns an Ed25519 public key in the form of a root. @param publicKey 32 bytes */
export const signerRootKey = (publicKey: Uint8Array): RootKey => ed25519KeyOf(publicKey);

/** Private key that signs roots. */
export interface RootSigner {
  key: RootKey;
  sign(message: Uint8Array): Uint8Array;
}

/**
 * Reads the private key of a file: Ed25519 in any form of `signer.key`, or P-256 in PEM without a passphrase.
 *
 * @param name of the key in messages
 * @throws UsageError `key_file_invalid`
 */
export function rootSigner(content: Uint8Array, name: string): RootSigner {
  const text = Buffer.from(content).toString("latin1");
  if (/^-----BEGIN EC PRIVATE KEY-----/.test(text.trimStart()) || isPrivateP256(text)) {
    const secret = privateP256(text, name);
    return {
      key: p256KeyOf(createPublicKey(secret)),
      sign: (message) => sign("sha256", message, { key: secret, dsaEncoding: "der" }),
    };
  }
  const seed = parsePrivateKey(content, name);
  return {
    key: ed25519KeyOf(publicKeyOf(seed)),
    sign: (message) => signMessage(seed, message),
  };
}

function isPrivateP256(pem: string): boolean {
  try {
    return isP256(createPrivateKey(pem));
  } catch {
    return false;
  }
}

function privateP256(pem: string, name: string): KeyObject {
  if (isPrivateP256(pem)) return createPrivateKey(pem);
  throw usageError("key_file_invalid", `${name} holds no P-256 private key that can be read.`, {
    hint: "It takes PEM without a passphrase; `openssl ecparam -name prime256v1 -genkey` makes one.",
  });
}
