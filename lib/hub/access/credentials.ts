import { hash, randomBytes } from "node:crypto";

/** Secrets that the hub issues: 256 random bits behind a prefix by which people and secret scanners recognise them. */
const PREFIXES = { key: "slk_", credential: "sdc_" } as const;

export type CredentialKind = keyof typeof PREFIXES;

/** The characters of a key that its record shows: the prefix and 36 of 256 bits. */
const SHOWN = PREFIXES.key.length + 6;

export function issue(kind: CredentialKind): string {
  return PREFIXES[kind] + randomBytes(32).toString("base64url");
}

/**
 * Returns the hash that is stored and looked up. A plain one is enough for 256 random bits, and an index lookup of a
 * hash tells no timing.
 */
export function hashOf(secret: string): string {
  return hash("sha256", secret);
}

export function shownPrefix(key: string): string {
  return key.slice(0, SHOWN);
}

/**
 * An identifier for a record: sorts by creation (milliseconds, then random), so that keyset pages are in order of age.
 */
export function recordId(prefix: string, now: number): string {
  return `${prefix}_${now.toString(16).padStart(12, "0")}${randomBytes(10).toString("hex")}`;
}
