import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Bytes of buffers that may pass between two collections. Measured: more leaves more garbage, less finds buffers that
 * are still in use, and what has been found twice is old and waits for a full collection.
 */
const INTERVAL_BYTES = 3 * 1024 * 1024;

/**
 * One collection in so many is a full one: it frees what two young ones have found in use. It also throws away compiled
 * code.
 */
const FULL_EVERY = 32;

type Collect = (options: { type: "minor" | "major"; flavor?: "last-resort" }) => void;

let collect: Collect | undefined;

function collection(): Collect {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as Collect;
  }
  return collect;
}

/**
 * Frees what is not used any more now, rather than when V8 finds its heap full: a program that makes many short-lived
 * objects, such as pictures of a fleet, would otherwise keep a heap that is large for nothing. `minor` takes about a
 * millisecond; `major` takes tens of them and gives the freed pages back to the system.
 */
export function collectGarbage(type: "minor" | "major"): void {
  collection()(type === "minor" ? { type } : { type, flavor: "last-resort" });
}

/**
 * Keeps the memory of a byte stream flat. A buffer's bytes live outside of V8's heap, and V8 looks at its small young
 * heap long after hundreds of megabytes of dead buffers have gathered; a collection of the young heap every 3 MiB takes
 * well under a millisecond and frees them (docs/decisions/0005-buffer-pacing.md has the measurement).
 *
 * @param fullEvery one collection in so many is a full one (32); Infinity where nothing lives long enough to be found
 *   in use twice
 * @param intervalBytes bytes between two collections (3 MiB)
 * @returns to be called with the bytes of each chunk that a stage has let go of
 */
export function paceBuffers({ fullEvery = FULL_EVERY, intervalBytes = INTERVAL_BYTES } = {}): (bytes: number) => void {
  let passed = 0;
  let collections = 0;
  return (bytes) => {
    passed += bytes;
    if (passed < intervalBytes) return;
    passed = 0;
    collections++;
    collection()({ type: collections % fullEvery === 0 ? "major" : "minor" });
  };
}
