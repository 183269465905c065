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

/** Path of a version at a mirror. */
export const mirroredRootPath = (id: string, version: number): string => `/roots/${id}/${rootFileName(version)}`;

/** Reads such a path; undefined for any other. */
export function mirroredRootIn(path: string): { id: string; version: number } | undefined {
  const [, id, version] = /^\/roots\/(rt_[0-9a-f]{32})\/([1-9]\d{0,9})\.root\.json$/.exec(path) ?? [];
  if (id === undefined || Number(version) > MAX_ROOT_VERSION) return undefined;
  return { id, version: Number(version) };
}
