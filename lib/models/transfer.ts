/** The speed is that of the last few seconds. Milliseconds. */
const WINDOW_MS = 4_000;

/** The speed of a transfer, computed from progress events. */
export class Transfer {
  readonly #points: { at: number; bytes: number }[] = [];

  /** @param at milliseconds of any clock, never going back */
  add(at: number, bytes: number): void {
    this.#points.push({ at, bytes });
    while (this.#points.length > 2 && this.#points[1]!.at < at - WINDOW_MS) this.#points.shift();
  }

  /** Bytes per second, or undefined while too little is known. */
  get rate(): number | undefined {
    const [first, last] = [this.#points[0], this.#points.at(-1)];
    if (first === undefined || last === undefined || last.at - first.at < 200) return undefined;
    return ((last.bytes - first.bytes) / (last.at - first.at)) * 1000;
  }

  /** Milliseconds until `size` bytes are there, or undefined when nobody can tell. */
  remaining(size: number | null): number | undefined {
    const { rate } = this;
    const bytes = this.#points.at(-1)?.bytes ?? 0;
    if (size === null || rate === undefined || rate <= 0) return undefined;
    return (Math.max(0, size - bytes) / rate) * 1000;
  }
}
