import v8 from "node:v8";
import vm from "node:vm";

/**
 * Keeps the garbage of a sandbox's process below its memory limit, of which V8 knows nothing: memory of Buffers counts
 * as little until there are 64 MB of it.
 */

// Kept before the plugin is loaded, which may replace them, and before the lock-down takes the first one away.
const setFlagsFromString = v8.setFlagsFromString.bind(v8);
const getHeapStatistics = v8.getHeapStatistics.bind(v8);
const runInNewContext = vm.runInNewContext.bind(vm);
/** Milliseconds. The global `performance` would load a dozen of Node's modules. */
const uptime = process.uptime.bind(process);
const now = (): number => uptime() * 1000;

/** Milliseconds between two looks, which take some microseconds each. */
const LOOK_MS = 2;
/** Part of the room from which on garbage is collected, and part by which what is left then may grow. */
const FULL = 0.6;
const GROWTH = 0.1;
/** Milliseconds after a collection in which V8 gives back the memory of Buffers. */
const SETTLING_MS = 10;
/** Times that a collection took, for which none follows it. */
const REST = 10;

export class MemoryWatch {
  #roomBytes = Infinity;
  /** Bytes in use from which on garbage is collected; undefined while the memory of the last garbage is given back. */
  #mark: number | undefined = Infinity;
  #lookedAt = 0;
  #collectedAt = 0;
  #restsUntil = 0;
  #collectGarbage: (() => void) | undefined;

  /** @param bytes that the plugin's heap and Buffers may take */
  set room(bytes: number) {
    this.#roomBytes = bytes;
    this.#mark = bytes * FULL;
  }

  /** Looks at the memory in use, if that was not done just now, and collects garbage where there is too much. */
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

  /** Collects garbage at once, unless that was done just now: most of the time is the plugin's, also near the limit. */
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

/** The flag is put back at once: code that Node.js compiles later has to fit its flags. */
function findCollector(): () => void {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as () => void;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
