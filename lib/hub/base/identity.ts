import { hash, randomBytes } from "node:crypto";

/** Secrets that the hub issues: 256 random bits behind a prefix by which people and secret scanners recognise them. */
const PREFIXES = { key: "slk_", credential: "sdc_", invite: "sjt_" } as const;

export type CredentialKind = keyof typeof PREFIXES;

/** Characters of a key shown in its record: the prefix and 36 of 256 bits. */
const SHOWN = PREFIXES.key.length + 6;

export function issue(kind: CredentialKind): string {
  return PREFIXES[kind] + randomBytes(32).toString("base64url");
}

/**
 * Returns the stored hash of a secret. Plain SHA-256 is enough for 256 random bits, and makes lookups safe from timing
 * attacks.
 */
export function hashOf(secret: string): string {
  return hash("sha256", secret);
}

export function shownPrefix(key: string): string {
  return key.slice(0, SHOWN);
}

/** Makes a record id that sorts by creation (milliseconds, then random), so that keyset pages are in order of age. */
export function recordId(prefix: string, now: number): string {
  return firstId(prefix, now) + randomBytes(10).toString("hex");
}

/** Returns a text that sorts after all earlier ids and before all later ones. @param now milliseconds since 1970 */
export const firstId = (prefix: string, now: number): string => `${prefix}_${now.toString(16).padStart(12, "0")}`;

/** Returns when a record id was made, in milliseconds since 1970. */
export const timeOfId = (id: string): number => Number.parseInt(id.slice(id.indexOf("_") + 1).slice(0, 12), 16);

/** Pattern of record ids, under which blobs are stored. Other files in a storage are not the hub's. */
export const BLOB_ID = /^[a-z]{3}_[0-9a-f]{32}$/;

export const isBlobId = (name: string): boolean => BLOB_ID.test(name);

/**
 * Checks an id before it becomes part of a path or object key: databases and backups may have been tampered with.
 *
 * @throws Error with the code ENOENT, as for a missing blob
 */
export function blobName(id: string): string {
  if (isBlobId(id)) return id;
  throw Object.assign(new Error(`${JSON.stringify(id.slice(0, 100))} is not the id of a blob.`), { code: "ENOENT" });
}
