/** Time over which the speed is measured, in milliseconds. */
const WINDOW_MS = 4_000;
/** Length of the pieces in which past speeds are kept, in milliseconds; the next constant is their number. */
const PIECE_MS = 1_000;
const MAX_PIECES = 120;

/** Speed of a transfer, computed from progress events. */
export class Transfer {
  readonly #points: { at: number; bytes: number }[] = [];

  /** Bytes of each of the last seconds; the newest may not be over. */
  readonly #pieces: number[] = [];
  #began: number | undefined;
  /** Seconds that have begun. */
  #seconds = 0;
  #last = 0;

  /** @param at milliseconds of any clock, never going back */
  add(at: number, bytes: number): void {
    this.#began ??= at;
    const second = Math.floor((at - this.#began) / PIECE_MS);
    // A long silence counts as its last pieces.
    this.#seconds = Math.max(this.#seconds, second - MAX_PIECES);
    for (; this.#seconds <= second; this.#seconds++) this.#pieces.push(0);
    this.#pieces.splice(0, this.#pieces.length - MAX_PIECES);
    this.#pieces[this.#pieces.length - 1]! += Math.max(0, bytes - this.#last);
    this.#last = bytes;
    this.#points.push({ at, bytes });
    while (this.#points.length > 2 && this.#points[1]!.at < at - WINDOW_MS) this.#points.shift();
  }

  /** Bytes per second, or undefined while too little is known. */
  get rate(): number | undefined {
    const [first, last] = [this.#points[0], this.#points.at(-1)];
    if (first === undefined || last === undefined || last.at - first.at < 200) return undefined;
    return ((last.bytes - first.bytes) / (last.at - first.at)) * 1000;
  }

  /** Returns the bytes of each of the last seconds, oldest first. @param count most seconds */
  bytesPerSecond(count: number): readonly number[] {
    return count <= 0 ? [] : this.#pieces.slice(-count);
  }

  /** Returns the milliseconds until `size` bytes have arrived; undefined while the rate is unknown. */
  remaining(size: number | null): number | undefined {
    const { rate } = this;
    const bytes = this.#points.at(-1)?.bytes ?? 0;
    if (size === null || rate === undefined || rate <= 0) return undefined;
    return (Math.max(0, size - bytes) / rate) * 1000;
  }
}
