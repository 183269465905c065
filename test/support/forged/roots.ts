/** Trust roots, made by hand: also those that `sealift trust` would not make. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import type { RootDocument, RootKey, SignedRoot } from "../../../lib/contract/trust/root.ts";
import { canonicalJson } from "../../../lib/support/documents/canonical-json.ts";

/** Ed25519 key as a root names it. */
export interface PublicKey {
  id: string;
  key: RootKey;
  /** Public key, hexadecimal. */
  hex: string;
}

/** Key pair of a holder, or of a signer of versions. */
export interface HeldKey extends PublicKey {
  privateKey: KeyObject;
}

const idOf = (key: RootKey): string => createHash("sha256").update(canonicalJson(key)).digest("hex");

/** Returns a public key as a root names it. @param bytes 32 bytes */
export function publicKey(bytes: Buffer): PublicKey {
  const hex = bytes.toString("hex");
  const key: RootKey = { keytype: "ed25519", scheme: "ed25519", keyval: { public: hex } };
  return { id: idOf(key), key, hex };
}

/** Makes an Ed25519 key pair. */
export function heldKey(): HeldKey {
  const pair = generateKeyPairSync("ed25519");
  const bytes = pair.publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return { ...publicKey(bytes), privateKey: pair.privateKey };
}

export const rootIdOf = (): string => `rt_${randomBytes(16).toString("hex")}`;

/** Contents of a version of a root. */
export interface RootPlan {
  id: string;
  version: number;
  holders: readonly HeldKey[];
  threshold?: number;
  signers: readonly PublicKey[];
  /** Names by the keys' ids. */
  names?: Record<string, string>;
  /** Keys that sign it. Default: the holders. */
  by?: readonly HeldKey[];
  /** Changes what is signed, before it is. */
  change?: (signed: SignedRoot) => unknown;
}

/** Returns a version of a root, with what its signatures are over. */
export function forgedRoot({ id, version, holders, threshold = 1, signers, names, by = holders, change }: RootPlan) {
  const keys = new Map([...holders, ...signers].map((held) => [held.id, held.key]));
  const signed: SignedRoot = {
    ...{ _type: "root", spec_version: "1.0.31", consistent_snapshot: false, version, expires: "2036-01-01T00:00:00Z" },
    keys: Object.fromEntries(keys),
    roles: {
      root: { keyids: holders.map((held) => held.id), threshold },
      snapshot: { keyids: [], threshold: 1 },
      targets: { keyids: signers.map((held) => held.id), threshold: 1 },
      timestamp: { keyids: [], threshold: 1 },
    },
    "x-sealift-root": id,
    ...(names && { "x-sealift-names": names }),
  };
  const changed = (change?.(signed) ?? signed) as SignedRoot;
  const message = canonicalJson(changed);
  const signatures = by.map((held) => ({
    keyid: held.id,
    sig: sign(null, Buffer.from(message), held.privateKey).toString("hex"),
  }));
  const document: RootDocument = { signatures, signed: changed };
  return { text: JSON.stringify(document), document, digest: createHash("sha256").update(message).digest("hex") };
}

/** A root whose versions are made one after the other, with 2 of 3 holders. */
export interface RootChain {
  id: string;
  holders: readonly HeldKey[];
  /** Returns the text of a version that names signers. */
  version(version: number, signers: readonly PublicKey[], more?: Partial<RootPlan>): string;
}

export function rootChain(): RootChain {
  const id = rootIdOf();
  const holders = [heldKey(), heldKey(), heldKey()];
  return {
    id,
    holders,
    version: (version, signers, more = {}) =>
      forgedRoot({ id, version, holders, threshold: 2, by: holders.slice(0, 2), signers, ...more }).text,
  };
}
