import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const MIB = 1024 * 1024;

interface Pace {
  /** Bytes of buffers that may pass between two collections. */
  intervalBytes: number;
  /** Number of collections of which one is full, and also drops compiled code; the others collect the young heap. */
  fullEvery: number;
  /** Bytes of garbage per byte or character counted. */
  weight: number;
}

/**
 * Stages of streams that are paced, with what was measured at each (docs/decisions/0005-buffer-pacing.md).
 *
 * - `bytes`: buffers that pass. Beyond 3 MiB more garbage is left, below it buffers are still in use; buffers found
 *   in use by two young collections wait for a full one.
 * - `parts`: parts of an upload to a bucket, which young collections find in use while it is sent.
 * - `inflated`: contents of ZIP members, with 4 KiB for each of their inflaters. Both are held by a handle, which
 *   only a full collection frees.
 * - `tokens`: records that a parser makes of a fleet's text, none of which lives long enough to be found in use
 *   twice.
 * - `rows`: rows of a fleet, their members and their text, counted by the characters of the text.
 * - `lines`: lines about each file of a release. Some of what they become lives on: full collections start at about
 *   20,000 files.
 */
const PACES = {
  bytes: { intervalBytes: 3 * MIB, fullEvery: 32, weight: 1 },
  parts: { intervalBytes: 5 * MIB, fullEvery: 2, weight: 1 },
  inflated: { intervalBytes: 8 * MIB, fullEvery: 1, weight: 1 },
  tokens: { intervalBytes: 3 * MIB, fullEvery: Infinity, weight: 32 },
  rows: { intervalBytes: 3 * MIB, fullEvery: 32, weight: 6 },
  lines: { intervalBytes: 3 * MIB, fullEvery: 8, weight: 6 },
} satisfies Record<string, Pace>;

type Collect = (options: { type: "minor" | "major"; flavor?: "last-resort" }) => void;

let collect: Collect | undefined;

function collection(): Collect {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as Collect;
    // V8 rejects code cached under other flags, also for modules loaded later.
    setFlagsFromString("--no-expose-gc");
  }
  return collect;
}

/**
 * Collects garbage now, rather than when V8's heap is full. `minor` takes about a millisecond; `major` takes tens of
 * them and returns freed pages to the system.
 */
export function collectGarbage(type: "minor" | "major"): void {
  collection()(type === "minor" ? { type } : { type, flavor: "last-resort" });
}

/**
 * Keeps the memory of a stream constant. Bytes of buffers live outside of V8's heap, which collects its young heap only
 * after hundreds of megabytes of dead ones; collecting it every few megabytes takes well under a millisecond.
 *
 * @returns a function to call with the bytes, or characters, of each chunk that a stage has finished with
 */
export function paceBuffers(edge: keyof typeof PACES = "bytes"): (amount: number) => void {
  const { intervalBytes, fullEvery, weight }: Pace = PACES[edge];
  let passed = 0;
  let collections = 0;
  return (amount) => {
    passed += amount * weight;
    if (passed < intervalBytes) return;
    passed = 0;
    collections++;
    collection()({ type: collections % fullEvery === 0 ? "major" : "minor" });
  };
}

/**
 * Passes the chunks of a stream on, paced as by {@link paceBuffers}. The reader must have finished with earlier ones.
 */
export async function* paced(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const pace = paceBuffers();
  for await (const chunk of chunks) {
    yield chunk;
    pace(chunk.length);
  }
}

/** Frees the memory under a buffer that the caller owns entirely, unlike a chunk of a connection. */
export function freeBuffer({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
