import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How many bytes may pass through buffers before they are collected. */
const INTERVAL = 8 * 1024 * 1024;

type CollectGarbage = (options: { type: "minor" }) => void;

let collectGarbage: CollectGarbage | undefined;

/** V8's own collector, which Node shows only to those who ask. */
function collector(): CollectGarbage {
  if (collectGarbage === undefined) {
    setFlagsFromString("--expose-gc");
    collectGarbage = runInNewContext("gc") as CollectGarbage;
    setFlagsFromString("--no-expose-gc");
  }
  return collectGarbage;
}

/** Of all requests together: the heap is one as well. */
let passed = 0;

/**
 * Counts bytes that have passed through short-lived buffers, and has the dead ones collected every few megabytes. A transfer makes
 * little garbage besides its buffers, which lie outside the heap, so V8 would let some 90 MB of them pile up before it looks; a
 * collection of the young generation takes about a millisecond.
 */
export function countBuffered(bytes: number): void {
  passed += bytes;
  if (passed < INTERVAL) return;
  passed = 0;
  collector()({ type: "minor" });
}
