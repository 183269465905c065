import { randomFillSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { threadId } from "node:worker_threads";
import { nonceHash, OnePassSigner } from "./ed25519.ts";

/** The facts about a message that are known before its first byte. */
export interface SigningFacts {
  projectId: string;
  version: string;
  /** Digest of the files to pack, from `MemberList.stampDigest`. */
  listing: Uint8Array;
  /** The key of this artifact alone. */
  dek: Uint8Array;
}

/** The sources of a nonce beside what is signed. Tests replace them one by one. */
export interface NonceSources {
  /** Fills a buffer by the system's generator. */
  random: (buffer: Uint8Array) => void;
  /** Milliseconds since the epoch. */
  wallMs: () => number;
  /** Nanoseconds that no clock change turns back. */
  monotonicNs: () => bigint;
  /** Tells one start of the machine from another. */
  bootId: () => string;
  pid: number;
  threadId: number;
  /** Another number at each call. */
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
 * Makes the signer of one artifact, with a hedged nonce: secret and uniform while either the generator or the seed is,
 * and another one for each artifact also where the generator repeats itself (docs/decisions/0023-one-pass-signing.md).
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
    // With its length, so that no two lists of parts are the same bytes.
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  random.fill(0);
  return new OnePassSigner(seed, hash.digest());
}
