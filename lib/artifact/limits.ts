/** Limits of an archive, enforced on what actually comes out of it. Every limit has a flag of the same name. */
export interface Limits {
  /** Most members, folders included. */
  maxEntries: number;
  /** Largest file, in bytes. */
  maxEntryBytes: number;
  /** Largest total size of all files, in bytes. */
  maxTotalBytes: number;
  /** Largest ratio of output to input bytes over the whole archive, enforced from {@link RATIO_FREE_BYTES} on. */
  maxRatio: number;
  /** Most components of a member's path. */
  maxDepth: number;
  /** Longest path of a member, in bytes of UTF-8. */
  maxNameBytes: number;
}

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const DEFAULT_LIMITS: Readonly<Limits> = {
  maxEntries: 250_000,
  maxEntryBytes: 16 * GIB,
  maxTotalBytes: 64 * GIB,
  maxRatio: 500,
  maxDepth: 64,
  maxNameBytes: 1024,
};

/** Returns the limits that options choose; those without an option keep their default. */
export function limitsOf(options: Partial<Limits>): Limits {
  const limits = { ...DEFAULT_LIMITS };
  for (const key of Object.keys(limits) as (keyof Limits)[]) limits[key] = options[key] ?? limits[key];
  return limits;
}

/** Output below which the ratio is not limited, in bytes: a small archive cannot fill a disk. */
export const RATIO_FREE_BYTES = 64 * MIB;

/** Largest plaintext of a GCM message: 2^36 - 32 bytes (docs/contract/project-artifact.md). */
export const MAX_PLAINTEXT_BYTES = 2 ** 36 - 32;

/** Bytes that an artifact has in addition to its ciphertext: nonce and tag. */
export const NONCE_BYTES = 12;
export const TAG_BYTES = 16;
export const DEK_BYTES = 32;
