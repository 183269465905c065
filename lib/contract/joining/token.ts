import { hash } from "node:crypto";

/** Secret of an invite, and the fingerprint with which a host checks the hub's answer. */
export interface JoinToken {
  /** Secret by which the hub knows the invite: `sjt_` and 256 random bits in base64url. */
  token: string;
  /** Pinned by the hosts of the invite: the signers, or the trust root that names them. */
  pins: "signers" | "root";
  /** {@link fingerprintOf} the signers, or {@link rootFingerprint} of the root. */
  fingerprint: string;
  /** Third part of the line, which the hub never gets; undefined for an invite without an operator. */
  operator?: InviteSecret;
}

/** Part of a line that no hub gets: which terms the operator has signed, and the key by which a host signs its card. */
export interface InviteSecret {
  /** First 32 hexadecimal digits of the terms' digest. */
  digest: string;
  /** Ed25519 seed of the invite, 32 bytes. */
  seed: Uint8Array;
}

/**
 * Matches the line in which an invite is handed over: the token, a full stop, `root-` where hosts pin a trust root, and
 * the fingerprint; with an operator, a full stop, the start of the terms' digest, and the seed of the invite.
 */
const LINE = /^(sjt_[A-Za-z0-9_-]{43})\.(root-)?([0-9a-f]{32})(?:\.([0-9a-f]{32})-([A-Za-z0-9_-]{43}))?$/;

/** Returns 128 bits of SHA-256 over the keys, in any order. @param signers lower-case hexadecimal */
export const fingerprintOf = (signers: readonly string[]): string =>
  hash("sha256", signers.toSorted().join("\n")).slice(0, 32);

/** Returns the first 128 bits of a trust root's digest. @param digest SHA-256 of what its signatures are over */
export const rootFingerprint = (digest: string): string => digest.slice(0, 32);

/** Returns the line that hosts join with who pin signers. */
export const joinLine = (token: string, signers: readonly string[]): string => `${token}.${fingerprintOf(signers)}`;

/** Returns the line that hosts join with who pin a trust root. @param digest of the root */
export const rootJoinLine = (token: string, digest: string): string => `${token}.root-${rootFingerprint(digest)}`;

/** Returns a line with the part that binds hosts to their operator. */
export const withOperator = (line: string, { digest, seed }: InviteSecret): string =>
  `${line}.${digest}-${Buffer.from(seed).toString("base64url")}`;

/** Reads the line of an invite. @returns undefined for anything else */
export function joinTokenIn(text: string): JoinToken | undefined {
  const [, token, root, fingerprint, digest, seed = ""] = LINE.exec(text.trim()) ?? [];
  if (token === undefined) return undefined;
  return {
    ...{ token, pins: root === undefined ? "signers" : "root", fingerprint: fingerprint! },
    ...(digest !== undefined && { operator: { digest, seed: Buffer.from(seed, "base64url") } }),
  };
}
