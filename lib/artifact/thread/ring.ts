import { type LaneTrace, traceFile, traceLane, waiting } from "./lane-trace.ts";

/** Bytes per slot. The reader gets whole slots, so that nearly every small file is in one piece. */
const SLOT_BYTES = 512 * 1024;
const SLOTS = 8;

/** Index of a control word: slots filled. The next ones are explained where they are not obvious. */
const FILLED = 0;
const EMPTIED = 1;
/** Total number of slots; 0 while more may follow. */
const TOTAL = 2;
const LAST_BYTES = 3;
/** 1 when the bytes are incomplete. */
const CUT = 4;
const WORDS = 5;

/** Ring of shared memory that carries bytes between threads, in the form in which it is sent. */
export interface Ring {
  control: SharedArrayBuffer;
  bytes: SharedArrayBuffer;
  /** Trace of the reader's lane, which has no environment of its own: its name and file, if there is one. */
  traced?: { reader: string; file: string };
}

/** Returns an empty ring of 4 MiB. @param reader name of the reader's lane in a trace */
export function newRing(reader = "reader"): Ring {
  const file = traceFile();
  return {
    control: new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT),
    bytes: new SharedArrayBuffer(SLOTS * SLOT_BYTES),
    ...(file !== undefined && { traced: { reader, file } }),
  };
}

/** Writing end. It never blocks its thread. */
export class RingWriter {
  readonly #control: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array;
  readonly #lane: LaneTrace | undefined;
  readonly #reader: string;
  /** Slots handed over. */
  #filled = 0;
  /** Bytes in the current slot. */
  #at = 0;
  #abandoned = false;

  /** @param lane trace of the writing lane */
  constructor({ control, bytes, traced }: Ring, lane?: LaneTrace) {
    this.#lane = lane;
    this.#reader = traced?.reader ?? "";
    this.#control = new Int32Array(control);
    this.#bytes = new Uint8Array(bytes);
  }

  /** Copies as much as there is room for. @returns the number of bytes taken */
  write(bytes: Uint8Array): number {
    if (this.#abandoned) return bytes.length;
    let taken = 0;
    while (taken < bytes.length && this.#hasRoom) {
      const place = this.place(bytes.length - taken);
      place.set(bytes.subarray(taken, taken + place.length));
      taken += place.length;
      this.filled(place.length);
    }
    return taken;
  }

  /**
   * Returns the place for up to `wanted` next bytes, which the caller fills itself and counts with {@link filled}.
   * Empty when there is no room, and when the ring is abandoned.
   */
  place(wanted: number): Uint8Array {
    if (this.#abandoned || !this.#hasRoom) return this.#bytes.subarray(0, 0);
    const start = (this.#filled % SLOTS) * SLOT_BYTES + this.#at;
    return this.#bytes.subarray(start, start + Math.min(wanted, SLOT_BYTES - this.#at));
  }

  /** Counts bytes that were put into {@link place}. */
  filled(bytes: number): void {
    this.#at += bytes;
    if (this.#at === SLOT_BYTES) this.#handOver();
  }

  /**
   * Resolves when there is room, or when the ring is abandoned.
   *
   * @param slots to be free, including the current one
   */
  async room(slots = 1): Promise<void> {
    while (!this.#abandoned) {
      const emptied = Atomics.load(this.#control, EMPTIED);
      if (this.#filled - emptied <= SLOTS - slots) return;
      const change = Atomics.waitAsync(this.#control, EMPTIED, emptied);
      if (change.async) await waiting(this.#lane, this.#reader, change.value);
    }
  }

  /** Hands over the rest. @param whole false when bytes are missing */
  end(whole: boolean): void {
    Atomics.store(this.#control, LAST_BYTES, this.#at);
    Atomics.store(this.#control, CUT, whole ? 0 : 1);
    Atomics.store(this.#control, TOTAL, this.#filled + 1);
    this.#handOver();
  }

  /** Gives up on the reader: nothing more is copied, and nobody waits for room any more. */
  abandon(): void {
    this.#abandoned = true;
    Atomics.notify(this.#control, EMPTIED);
  }

  get #hasRoom(): boolean {
    return this.#filled - Atomics.load(this.#control, EMPTIED) < SLOTS;
  }

  #handOver(): void {
    this.#at = 0;
    this.#filled++;
    Atomics.store(this.#control, FILLED, this.#filled);
    Atomics.notify(this.#control, FILLED);
  }
}

/**
 * Passes the bytes of a ring to `take`, slot by slot, until the writer ends it. Blocks its thread while there are none.
 *
 * @param take called with a view that is overwritten once it has returned
 * @returns true when the writer says that the bytes are complete
 */
export function readRing({ control, bytes, traced }: Ring, take: (bytes: Uint8Array) => void): boolean {
  using lane = traced && traceLane(traced.reader, traced.file);
  const words = new Int32Array(control);
  for (let emptied = 0; ; emptied++) {
    // The writing thread started this one and ends it with itself, so this wait cannot outlast the writer.
    while (Atomics.load(words, FILLED) === emptied) {
      const end = lane?.begin("ring");
      Atomics.wait(words, FILLED, emptied);
      end?.();
    }
    lane?.slots(Atomics.load(words, FILLED) - emptied);
    const last = Atomics.load(words, TOTAL) === emptied + 1;
    const length = last ? Atomics.load(words, LAST_BYTES) : SLOT_BYTES;
    if (length > 0) take(new Uint8Array(bytes, (emptied % SLOTS) * SLOT_BYTES, length));
    if (last) return Atomics.load(words, CUT) === 0;
    Atomics.store(words, EMPTIED, emptied + 1);
    Atomics.notify(words, EMPTIED);
  }
}
