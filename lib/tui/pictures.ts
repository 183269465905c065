/**
 * Interval of redrawing after changes, in milliseconds; keys do not wait for it. Watching must not slow a deployment
 * down.
 */
const PICTURE_MS = 500;

/** Notifies views of changes at a calm pace, for React's `useSyncExternalStore`. */
export class Pictures {
  readonly #listeners = new Set<() => void>();
  #revision = 0;
  /** Time of the last redraw, by `performance.now()`: with a wall clock set back, redrawing would stop. */
  #told = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /** Requests a redraw soon. */
  readonly changed = (): void => {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#told + PICTURE_MS - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#told = performance.now();
      this.#revision++;
      for (const listener of this.#listeners) listener();
    }, wait);
    this.#timer.unref();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly revision = (): number => this.#revision;
}
