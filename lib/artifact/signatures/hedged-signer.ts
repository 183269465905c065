import { randomFillSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { threadId } from "node:worker_threads";
import { nonceHash, OnePassSigner } from "./ed25519.ts";

/** Facts about a message that are known before its first byte. */
export interface SigningFacts {
  projectId: string;
  version: string;
  /** Digest of the files to pack, from `MemberList.stampDigest`. */
  listing: Uint8Array;
  /** Data encryption key of this artifact. */
  dek: Uint8Array;
}

/** Sources of a nonce other than the message. Tests replace them one by one. */
export interface NonceSources {
  /** Fills a buffer with the system's random generator. */
  random: (buffer: Uint8Array) => void;
  /** Milliseconds since the epoch. */
  wallMs: () => number;
  /** Returns nanoseconds that no clock change turns back. */
  monotonicNs: () => bigint;
  /** Returns an id of this boot of the machine. */
  bootId: () => string;
  pid: number;
  threadId: number;
  /** Returns a different number at each call. */
  count: () => number;
}

let signatures = 0;

const SOURCES: NonceSources = {
  random: (buffer) => void randomFillSync(buffer),
  wallMs: () => Date.now(),
  monotonicNs: () => process.hrtime.bigint(),
  bootId: () => {
    try {
      return readFileSync("/proc/sys/kernel/random/boot_id", "latin1");
    } catch {
      return "";
    }
  },
  pid: process.pid,
  threadId,
  count: () => signatures++,
};

/**
 * Makes the signer of one artifact, with a hedged nonce: secret and uniform if either the generator or the seed is, and
 * different for each artifact even if the generator repeats itself (docs/decisions/0023-one-pass-signing.md).
 *
 * @param seed the signer's 32 bytes
 */
export function hedgedSigner(seed: Uint8Array, facts: SigningFacts, sources: NonceSources = SOURCES): OnePassSigner {
  const random = Buffer.alloc(64);
  sources.random(random);
  const { projectId, version, listing, dek } = facts;
  const { pid, threadId: thread } = sources;
  const clocks = [sources.wallMs(), sources.monotonicNs(), sources.bootId(), pid, thread, sources.count()];
  const hash = nonceHash(seed);
  for (const part of [random, ...clocks.map(String), projectId, version, listing, dek]) {
    // Prefixed with its length, so that no two lists of parts give the same bytes.
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  random.fill(0);
  return new OnePassSigner(seed, hash.digest());
}
