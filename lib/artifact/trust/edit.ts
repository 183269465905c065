import { randomBytes } from "node:crypto";
import { usageError } from "../../contract/errors.ts";
import { keyName, ROOT_YEARS, type RootDocument, type RootKey, type SignedRoot } from "../../contract/trust/root.ts";
import { keyIdOf, type RootSigner, usableKey } from "./keys.ts";
import { isCountersigned, parseRoot, signedBytesOf, type TrustRoot } from "./root.ts";

/** Key with a name for people. */
export interface NamedKey {
  key: RootKey;
  /** Undefined for a key without one. */
  name?: string | undefined;
}

/** Version of the TUF specification whose form is written. */
const SPEC_VERSION = "1.0.31";

/** Returns the date on a root that is made now: whole seconds, {@link ROOT_YEARS} ahead. */
function expiryAfter(now: number): string {
  const at = new Date(now);
  at.setUTCFullYear(at.getUTCFullYear() + ROOT_YEARS);
  return at.toISOString().replace(/\.\d+Z$/, "Z");
}

/** Returns the text of a document, as files and hubs keep it. @throws UsageError for one that no reader would accept */
function textOf(document: RootDocument): string {
  const text = `${JSON.stringify(document, undefined, 1)}\n`;
  try {
    parseRoot(text, "The new root");
  } catch (error) {
    throw usageError("usage", (error as Error).message, { cause: error });
  }
  return text;
}

/** Returns the fields about keys: each key once, by its id, with its name if that is printable. */
function keysOf(root: readonly NamedKey[], signers: readonly NamedKey[]) {
  const all = new Map([...root, ...signers].map((named) => [keyIdOf(named.key), named]));
  const names = [...all].flatMap(([id, { name }]) => (keyName.safeParse(name).success ? [[id, name!]] : []));
  return {
    keys: Object.fromEntries([...all].map(([id, { key }]) => [id, key])),
    ...(names.length > 0 && { "x-sealift-names": Object.fromEntries(names) as Record<string, string> }),
  };
}

const rolesOf = (root: readonly NamedKey[], signers: readonly NamedKey[], threshold: number): SignedRoot["roles"] => ({
  root: { keyids: root.map(({ key }) => keyIdOf(key)), threshold },
  snapshot: { keyids: [], threshold: 1 },
  targets: { keyids: signers.map(({ key }) => keyIdOf(key)), threshold: 1 },
  timestamp: { keyids: [], threshold: 1 },
});

/** Keys and threshold of a version of a root. */
export interface RootKeys {
  root: readonly NamedKey[];
  signers: readonly NamedKey[];
  threshold: number;
}

/** Requires that no key is one of both roles: a signer's key is used daily, and a root key is kept apart. */
function requireApart({ root, signers }: RootKeys): void {
  const values = new Set(root.map(({ key }) => usableKey(key)?.value));
  if (signers.some(({ key }) => values.has(usableKey(key)?.value)))
    throw usageError("usage", "A signer of versions is one of the root keys, too.", {
      hint: "Make keys of their own for the root, and keep them apart: `sealift signer create --out FOLDER`.",
    });
}

/** Makes version 1 of a root, which nobody has signed yet. @param now milliseconds since 1970 @throws UsageError */
export function newRoot(keys: RootKeys, now: number): string {
  requireApart(keys);
  const { root, signers, threshold } = keys;
  return textOf({
    signatures: [],
    signed: {
      ...{ _type: "root", spec_version: SPEC_VERSION, consistent_snapshot: false, version: 1 },
      ...{ expires: expiryAfter(now), ...keysOf(root, signers), roles: rolesOf(root, signers, threshold) },
      "x-sealift-root": `rt_${randomBytes(16).toString("hex")}`,
    },
  });
}

/** Returns keys and threshold of a version, with names. */
export function keysOfRoot({ document: { signed } }: TrustRoot): RootKeys {
  const names = signed["x-sealift-names"] ?? {};
  const named = (id: string): NamedKey => ({ key: signed.keys[id]!, name: names[id] });
  const { root, targets } = signed.roles;
  return { root: root.keyids.map(named), signers: targets.keyids.map(named), threshold: root.threshold };
}

/**
 * Makes the version after another one, which nobody has signed yet.
 *
 * @param now milliseconds since 1970
 * @throws UsageError for keys that no reader would accept
 */
export function changedRoot(current: TrustRoot, keys: RootKeys, now: number): string {
  requireApart(keys);
  const { root, signers, threshold } = keys;
  const { signed } = current.document;
  return textOf({
    signatures: [],
    signed: {
      ...{ _type: "root", spec_version: SPEC_VERSION, consistent_snapshot: false, version: current.version + 1 },
      ...{ expires: expiryAfter(now), ...keysOf(root, signers), roles: rolesOf(root, signers, threshold) },
      "x-sealift-root": signed["x-sealift-root"],
    },
  });
}

/**
 * Returns the keys whose signatures on a root count: its root keys, those of the version before, and of version 1 the
 * signers that it names, whom hosts may pin.
 *
 * @param before version before it; undefined if it is not at hand
 */
export function keysThatSign(root: TrustRoot, before: TrustRoot | undefined): NamedKey[] {
  const [own, former] = [keysOfRoot(root), before && keysOfRoot(before)];
  const all = [...own.root, ...(former?.root ?? []), ...(root.version === 1 ? own.signers : [])];
  return [...new Map(all.map((named) => [keyIdOf(named.key), named])).values()];
}

/** Returns the ids by which keys name a signer: one that was written in another way has another id. */
export function idsAmong(keys: readonly NamedKey[], signer: RootSigner): string[] {
  const value = usableKey(signer.key)?.value;
  return keys.filter(({ key }) => usableKey(key)?.value === value).map(({ key }) => keyIdOf(key));
}

/**
 * Adds a signature to a root; the same key's signature takes the place of an earlier one.
 *
 * @param ids of the key; by default its own one
 */
export function signedBy({ document }: TrustRoot, signer: RootSigner, ids = [keyIdOf(signer.key)]): string {
  const sig = Buffer.from(signer.sign(signedBytesOf(document))).toString("hex");
  const others = document.signatures.filter(({ keyid }) => !ids.includes(keyid));
  return textOf({ ...document, signatures: [...others, ...ids.map((keyid) => ({ keyid, sig }))] });
}

/**
 * Adds the signatures of another copy of the same root.
 *
 * @throws UsageError for another root, or another version of it
 */
export function withSignaturesOf(root: TrustRoot, other: TrustRoot): string {
  if (root.digest !== other.digest)
    throw usageError("usage", "The two files are not copies of one root: what they say differs.");
  const known = new Set(root.document.signatures.map(({ keyid }) => keyid));
  const further = other.document.signatures.filter(({ keyid }) => !known.has(keyid));
  return textOf({ ...root.document, signatures: [...root.document.signatures, ...further] });
}

/** Whether one of the signers that a root names has countersigned it, for hosts that pin that signer. */
export const countersigners = (root: TrustRoot): NamedKey[] =>
  keysOfRoot(root).signers.filter(({ key }) => isCountersigned(root, keyIdOf(key), key));
