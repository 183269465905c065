import { hash } from "node:crypto";

/** Secret of an invite, and the fingerprint with which a host checks the hub's answer. */
export interface JoinToken {
  /** Secret by which the hub knows the invite: `sjt_` and 256 random bits in base64url. */
  token: string;
  /** Pinned by the hosts of the invite: the signers, or the trust root that names them. */
  pins: "signers" | "root";
  /** {@link fingerprintOf} the signers, or {@link rootFingerprint} of the root. */
  fingerprint: string;
}

/**
 * Matches the line in which an invite is handed over: the token, a full stop, `root-` where hosts pin a trust root, and
 * the fingerprint.
 */
const LINE = /^(sjt_[A-Za-z0-9_-]{43})\.(root-)?([0-9a-f]{32})$/;

/** Returns 128 bits of SHA-256 over the keys, in any order. @param signers lower-case hexadecimal */
export const fingerprintOf = (signers: readonly string[]): string =>
  hash("sha256", signers.toSorted().join("\n")).slice(0, 32);

/** Returns the first 128 bits of a trust root's digest. @param digest SHA-256 of what its signatures are over */
export const rootFingerprint = (digest: string): string => digest.slice(0, 32);

/** Returns the line that hosts join with who pin signers. */
export const joinLine = (token: string, signers: readonly string[]): string => `${token}.${fingerprintOf(signers)}`;

/** Returns the line that hosts join with who pin a trust root. @param digest of the root */
export const rootJoinLine = (token: string, digest: string): string => `${token}.root-${rootFingerprint(digest)}`;

/** Reads the line of an invite. @returns undefined for anything else */
export function joinTokenIn(text: string): JoinToken | undefined {
  const [, token, root, fingerprint] = LINE.exec(text.trim()) ?? [];
  if (token === undefined) return undefined;
  return { token, pins: root === undefined ? "signers" : "root", fingerprint: fingerprint! };
}
