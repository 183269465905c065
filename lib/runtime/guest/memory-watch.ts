import v8 from "node:v8";
import vm from "node:vm";

/**
 * Keeps the garbage of a sandbox's process below its memory limit, which V8 does not know: memory of Buffers counts
 * little in its heuristics below 64 MB.
 */

// Kept before the plugin is loaded, which may replace them, and before the lock-down removes the first one.
const setFlagsFromString = v8.setFlagsFromString.bind(v8);
const getHeapStatistics = v8.getHeapStatistics.bind(v8);
const runInNewContext = vm.runInNewContext.bind(vm);
/** Returns the uptime in seconds. The global `performance` would load a dozen of Node's modules. */
const uptime = process.uptime.bind(process);
const now = (): number => uptime() * 1000;

/** Interval of memory checks, in milliseconds; each takes some microseconds. */
const LOOK_MS = 2;
/**
 * Share of the room beyond which garbage is collected; the next constant is the share by which the rest may then grow.
 */
const FULL = 0.6;
const GROWTH = 0.1;
/** Time after a collection in which V8 returns the memory of Buffers, in milliseconds. */
const SETTLING_MS = 10;
/** Pause after a collection, as a multiple of the time it took. */
const REST = 10;

export class MemoryWatch {
  #roomBytes = Infinity;
  /** Bytes in use beyond which garbage is collected; undefined while the last garbage is being returned. */
  #mark: number | undefined = Infinity;
  #lookedAt = 0;
  #collectedAt = 0;
  #restsUntil = 0;
  #collectGarbage: (() => void) | undefined;

  /** @param bytes available to the plugin's heap and Buffers */
  set room(bytes: number) {
    this.#roomBytes = bytes;
    this.#mark = bytes * FULL;
  }

  /** Checks the memory in use, unless that was just done, and collects garbage when there is too much. */
  look(): void {
    const at = now();
    if (at - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = at;
    if (this.#mark === undefined) {
      if (at - this.#collectedAt < SETTLING_MS) return;
      this.#mark = Math.max(this.#roomBytes * FULL, bytesInUse() + this.#roomBytes * GROWTH);
    }
    if (bytesInUse() > this.#mark) this.relieve();
  }

  /**
   * Collects garbage at once, unless that was just done: most of the time must stay the plugin's, also near the limit.
   */
  relieve(): void {
    const began = now();
    if (began < this.#restsUntil) return;
    this.#collectGarbage ??= findCollector();
    this.#collectGarbage();
    this.#collectedAt = now();
    this.#restsUntil = this.#collectedAt + (this.#collectedAt - began) * REST;
    this.#mark = undefined;
  }
}

function bytesInUse(): number {
  const { total_heap_size, external_memory } = getHeapStatistics();
  return total_heap_size + external_memory;
}

/**
 * Returns the garbage collector. Resets the flag at once, since code that Node.js compiles later depends on its flags.
 */
function findCollector(): () => void {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as () => void;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
