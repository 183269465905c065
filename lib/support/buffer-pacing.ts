import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const MIB = 1024 * 1024;

interface Pace {
  /** Bytes of buffers that may pass between two collections. */
  intervalBytes: number;
  /** Number of collections of which one is full, and also drops compiled code; the others are of the young heap. */
  fullEvery: number;
  /** Bytes of garbage for each byte or character that is counted. */
  weight: number;
}

/**
 * The edges of streams that are paced, with what was measured at each (docs/decisions/0005-buffer-pacing.md).
 *
 * - `bytes`: buffers that pass. More than 3 MiB leaves more garbage, less finds buffers that are still in use; what two
 *   collections of the young heap have found in use waits for a full one.
 * - `parts`: the parts of an upload to a bucket. The young heap's collections find a part in use while it is sent.
 * - `inflated`: contents of ZIP members, with 4 KiB for each of their inflaters. Both hang on a handle, which only a
 *   full one frees.
 * - `tokens`: records that a parser makes of a fleet's text. Nothing of them lives long enough to be found in use
 *   twice.
 * - `rows`: rows of a fleet, their members and their text, counted by the characters of the text.
 * - `lines`: lines about each file of a release. Some of what they become lives on: full collections come from about
 *   20,000 files on.
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
    // V8 rejects code cached under other flags, also for modules that are loaded later.
    setFlagsFromString("--no-expose-gc");
  }
  return collect;
}

/**
 * Frees what is dead now, rather than when V8 finds its heap full. `minor` takes about a millisecond; `major` takes
 * tens of them and gives the freed pages back to the system.
 */
export function collectGarbage(type: "minor" | "major"): void {
  collection()(type === "minor" ? { type } : { type, flavor: "last-resort" });
}

/**
 * Keeps the memory of a stream flat: bytes of buffers live outside of V8's heap, which looks at its young heap long
 * after hundreds of megabytes of dead ones. A collection of it every few megabytes takes well under a millisecond.
 *
 * @returns a function that is called with the bytes, or characters, of each chunk that a stage has finished with
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

/** Passes the chunks of a stream on with the pace of {@link paceBuffers}. The reader is done with earlier ones. */
export async function* paced(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const pace = paceBuffers();
  for await (const chunk of chunks) {
    yield chunk;
    pace(chunk.length);
  }
}

/** Frees the memory under a buffer that the caller owns whole, unlike a chunk of a connection. */
export function freeBuffer({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
