/** Limits of an archive, counted on what actually comes out of it. Every limit has a flag of the same name. */
export interface Limits {
  /** Members, folders included. */
  maxEntries: number;
  /** Bytes of one file. */
  maxEntryBytes: number;
  /** Bytes of all files. */
  maxTotalBytes: number;
  /** Bytes out for each byte in, over the whole archive, judged from {@link RATIO_FREE_BYTES} on. */
  maxRatio: number;
  /** Components of a member's path. */
  maxDepth: number;
  /** Bytes of a member's path in UTF-8. */
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

/** The limits that options choose; one without an option keeps its default. */
export function limitsOf(options: Partial<Limits>): Limits {
  const limits = { ...DEFAULT_LIMITS };
  for (const key of Object.keys(limits) as (keyof Limits)[]) limits[key] = options[key] ?? limits[key];
  return limits;
}

/** A small archive may be as compressible as it likes: it cannot fill a disk. */
export const RATIO_FREE_BYTES = 64 * MIB;

/** A GCM message holds at most 2^36 - 32 bytes (docs/contract/project-artifact.md). */
export const MAX_PLAINTEXT_BYTES = 2 ** 36 - 32;

/** Bytes of an artifact beyond its ciphertext: nonce and tag. */
export const NONCE_BYTES = 12;
export const TAG_BYTES = 16;
export const DEK_BYTES = 32;
