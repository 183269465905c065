import { createHash } from "node:crypto";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { MAX_ROOT_BYTES } from "../../contract/trust/marks.ts";
import { type RootDocument, rootDocument, type RootKey } from "../../contract/trust/root.ts";
import { canonicalJson } from "../../support/documents/canonical-json.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import type { DocumentLimits } from "../../support/documents/limits.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { parseSignedJson, roundedNumber } from "../../support/documents/signed-json.ts";
import { type UsableKey, usableKey } from "./keys.ts";

/** Limits of a document: 32 keys and 32 signatures have 400 values, four levels deep. */
const LIMITS: DocumentLimits = { maxBytes: MAX_ROOT_BYTES, maxDepth: 8, maxNodes: 2000, maxMarks: Infinity };

/** Version of a root whose form was checked. Nothing of it counts before its signatures were verified. */
export interface TrustRoot {
  id: string;
  version: number;
  /** Date on it, ISO 8601. It stops nothing. */
  expires: string;
  document: RootDocument;
  /** Keys of all roles, by their ids. */
  keys: ReadonlyMap<string, UsableKey>;
  /** The document as it was read. */
  text: string;
  /** SHA-256 of what its signatures are over, hexadecimal: two versions with one digest say the same. */
  digest: string;
  /** Keys that may sign versions, 32 bytes each in hexadecimal, sorted. */
  signers: readonly string[];
}

const invalid = (name: string, what: string, cause?: unknown): SealiftError =>
  artifactError("trust_root_invalid", `${name} is not a trust root: ${what}.`, {
    cause,
    hint: "Nothing was changed. Ask those who hold the root keys for the file that they have signed.",
  });

/** Returns the form that a P-256 key must have, which has many writings in PEM. */
const formOf = ({ keytype }: RootKey): string =>
  keytype === "ecdsa" ? ": P-256 is PEM with lines of at most 76 characters, each ended by a line feed alone" : "";

/**
 * Reads a version of a root strictly: the exact keys of the format, none of them twice, and keys that verifiers accept.
 *
 * @param name of the document in messages
 * @throws ArtifactError `trust_root_invalid`
 */
export function parseRoot(text: string, name: string): TrustRoot {
  let parsed: unknown;
  let message: string;
  try {
    parsed = parseSignedJson(text, LIMITS);
    message = canonicalJson((parsed as { signed?: unknown } | null)?.signed ?? null);
  } catch (error) {
    throw invalid(name, (error as Error).message, error);
  }
  const rounded = roundedNumber(text);
  if (rounded !== undefined) throw invalid(name, `it writes the number ${rounded.slice(0, 32)}, and not whole digits`);
  // A run parses one or two: to compile the schema would take longer.
  const result = safelyParsed(rootDocument, parsed, { jitless: true });
  if (!result.success) throw invalid(name, faultsOf(result.error).join("; "));
  const document = result.data;
  const { signatures, signed } = document;
  const { root, targets } = signed.roles;
  const keys = new Map<string, UsableKey>();
  for (const [id, key] of Object.entries(signed.keys)) {
    const usable = usableKey(key);
    if (usable === undefined) throw invalid(name, `no verifier accepts the key ${id}${formOf(key)}`);
    keys.set(id, usable);
  }
  for (const [role, ids] of [
    ["root", root.keyids],
    ["targets", targets.keyids],
  ] as const) {
    const missing = ids.find((id) => !keys.has(id));
    if (missing !== undefined) throw invalid(name, `the role ${role} names the key ${missing}, which is not there`);
    const values = new Set(ids.map((id) => keys.get(id)!.value));
    if (values.size < ids.length) throw invalid(name, `the role ${role} has one key twice`);
  }
  const used = new Set([...root.keyids, ...targets.keyids]);
  const idle = [...keys.keys()].find((id) => !used.has(id));
  if (idle !== undefined) throw invalid(name, `no role names the key ${idle}`);
  const nameless = Object.keys(signed["x-sealift-names"] ?? {}).find((id) => !keys.has(id));
  if (nameless !== undefined) throw invalid(name, `it names the key ${nameless}, which is not there`);
  if (root.threshold > root.keyids.length)
    throw invalid(name, `it asks for ${root.threshold} signatures of ${root.keyids.length} keys`);
  if (new Set(signatures.map(({ keyid }) => keyid)).size < signatures.length)
    throw invalid(name, "one key has signed it twice");
  const signers = targets.keyids.map((id) => keys.get(id)!.ed25519);
  if (!signers.every((key) => key !== undefined)) throw invalid(name, "its signers of versions are Ed25519 keys only");
  return {
    id: signed["x-sealift-root"],
    version: signed.version,
    expires: signed.expires,
    document,
    keys,
    text,
    digest: createHash("sha256").update(message).digest("hex"),
    signers: signers.toSorted(),
  };
}

/** Returns the bytes that the signatures of a root are over. */
export const signedBytesOf = ({ signed }: RootDocument): Buffer => Buffer.from(canonicalJson(signed));

/** Signatures of a document by the root keys of a version, itself or the one before. */
export interface Signed {
  threshold: number;
  /** Ids of keys that have signed, and of those that have not. */
  by: string[];
  missing: string[];
}

/**
 * Returns who has signed a root, of the root keys of a version. Each key counts once, whatever its id.
 *
 * @param by version whose keys and threshold count
 */
export function signaturesOn(root: TrustRoot, by: TrustRoot): Signed {
  const { threshold } = by.document.signed.roles.root;
  const signed: Signed = { threshold, by: [], missing: [] };
  for (const { id, isSigned } of eachSignature(root, by)) (isSigned ? signed.by : signed.missing).push(id);
  return signed;
}

/** Yields whether each root key of a version has signed a root: a caller may end when it has seen enough. */
function* eachSignature({ document }: TrustRoot, by: TrustRoot): Generator<{ id: string; isSigned: boolean }> {
  const message = signedBytesOf(document);
  const signatures = new Map(document.signatures.map(({ keyid, sig }) => [keyid, Buffer.from(sig, "hex")]));
  for (const id of by.document.signed.roles.root.keyids) {
    const signature = signatures.get(id);
    yield { id, isSigned: signature !== undefined && by.keys.get(id)!.verifies(message, signature) };
  }
}

function requireSignatures(root: TrustRoot, by: TrustRoot, whose: string): void {
  const { threshold } = by.document.signed.roles.root;
  let signed = 0;
  for (const { isSigned } of eachSignature(root, by)) if (isSigned && ++signed === threshold) return;
  throw artifactError(
    "trust_root_undersigned",
    `Version ${root.version} of the trust root ${root.id} has ${signed} of ${threshold} signatures by ${whose}.`,
    { hint: "Nothing was changed. `sealift trust show FILE` says whose are missing, `sealift trust sign` adds one." },
  );
}

/**
 * Reads a root that somebody has pinned, and verifies it by its own keys.
 *
 * @throws ArtifactError `trust_root_invalid`, `trust_root_undersigned`
 */
export function anchoredRoot(text: string, name: string): TrustRoot {
  const root = parseRoot(text, name);
  requireSignatures(root, root, "its own keys");
  return root;
}

/** Whether a signer of versions has countersigned a root, by which hosts that pin the key take it over. */
export function isCountersigned({ document }: TrustRoot, id: string, key: RootKey): boolean {
  const signature = document.signatures.find(({ keyid }) => keyid === id);
  if (signature === undefined) return false;
  return usableKey(key)?.verifies(signedBytesOf(document), Buffer.from(signature.sig, "hex")) === true;
}

/**
 * Reads the next version of a root, and verifies it by the keys of the version before and by its own.
 *
 * @throws ArtifactError `trust_root_invalid`, `trust_root_other` for another root's, `trust_root_order` for a version
 *   that does not follow, `trust_root_undersigned`
 */
export function nextRoot(current: TrustRoot, text: string, name: string): TrustRoot {
  const next = parseRoot(text, name);
  const { id, version } = current;
  if (next.id !== id)
    throw artifactError("trust_root_other", `${name} is of the trust root ${next.id}, and ${id} is followed here.`, {
      hint: "Nothing was changed. A root is replaced by another one only by hand, on the host.",
    });
  if (next.version !== version + 1)
    throw artifactError(
      "trust_root_order",
      `${name} is version ${next.version} of the trust root ${id}, and version ${version + 1} comes next.`,
      { hint: "Nothing was changed. Versions follow one by one: give the one that is missing first." },
    );
  requireSignatures(next, current, `the keys of version ${version}`);
  requireSignatures(next, next, "its own keys");
  return next;
}
