import { hash } from "node:crypto";

/** Secret of an invite, and the fingerprint with which a host checks the hub's answer. */
export interface JoinToken {
  /** Secret by which the hub knows the invite: `sjt_` and 256 random bits in base64url. */
  token: string;
  /** {@link fingerprintOf} the signers for the host to pin. */
  fingerprint: string;
}

/** Matches the line in which an invite is handed over: the token, a full stop and the fingerprint. */
const LINE = /^(sjt_[A-Za-z0-9_-]{43})\.([0-9a-f]{32})$/;

/** Returns 128 bits of SHA-256 over the keys, in any order. @param signers lower-case hexadecimal */
export const fingerprintOf = (signers: readonly string[]): string =>
  hash("sha256", signers.toSorted().join("\n")).slice(0, 32);

/** Returns the line that hosts join with. */
export const joinLine = (token: string, signers: readonly string[]): string => `${token}.${fingerprintOf(signers)}`;

/** Reads the line of an invite. @returns undefined for anything else */
export function joinTokenIn(text: string): JoinToken | undefined {
  const [, token, fingerprint] = LINE.exec(text.trim()) ?? [];
  return token === undefined ? undefined : { token, fingerprint: fingerprint! };
}
