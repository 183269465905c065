// Apart from the schemas: commands read these names at their start.

/** Largest document of a trust root, in bytes. */
export const MAX_ROOT_BYTES = 64 * 1024;
/** Greatest version of a root. */
export const MAX_ROOT_VERSION = 2 ** 31 - 1;

/** Version of a root that a host follows. */
export interface RootMark {
  version: number;
  /** SHA-256 of what its signatures are over, hexadecimal. */
  digest: string;
}

/** Returns the mark of a root as hosts state it in a header. */
export const rootMarkText = ({ version, digest }: RootMark): string => `${version}:${digest}`;

/** Reads the mark of a root in a header; undefined for anything else. */
export function rootMarkIn(text: string): RootMark | undefined {
  const [, version, digest] = /^([1-9]\d{0,9}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (digest === undefined || Number(version) > MAX_ROOT_VERSION) return undefined;
  return { version: Number(version), digest };
}

/** Name of the file of a version, as in TUF repositories. */
export const rootFileName = (version: number): string => `${version}.root.json`;
