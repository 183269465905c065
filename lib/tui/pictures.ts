/**
 * Milliseconds between two pictures that changes ask for; keys do not wait for it. A deployment should not pay for
 * being looked at.
 */
const PICTURE_MS = 500;

/** Tells views at a calm pace that something has changed: what React's `useSyncExternalStore` asks for. */
export class Pictures {
  readonly #listeners = new Set<() => void>();
  #revision = 0;
  /** Time of the last picture, by `performance.now()`: a wall clock set back would stop the pictures. */
  #told = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /** Asks for a new picture soon. */
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
