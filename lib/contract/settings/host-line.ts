/** Public halves of a host's key, 64 lower-case hexadecimal digits each. */
interface PublicKeys {
  x25519: string;
  ed25519: string;
}

const LINE = /^shk1\.([0-9a-f]{64})\.([0-9a-f]{64})$/;

/** Returns the line in which `sealift host key` hands the public keys of a host to its operator. */
export const hostLine = ({ x25519, ed25519 }: PublicKeys): string => `shk1.${x25519}.${ed25519}`;

/** Reads the line of a host. @returns undefined for anything else; whether the keys are usable is not checked */
export function hostLineIn(text: string): PublicKeys | undefined {
  const [, x25519, ed25519] = LINE.exec(text.trim()) ?? [];
  return x25519 === undefined || ed25519 === undefined ? undefined : { x25519, ed25519 };
}
