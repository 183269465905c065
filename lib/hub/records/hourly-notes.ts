/** Time in which a use is written once, however often it is noted, in milliseconds. */
const EVERY_MS = 60 * 60 * 1000;
/** Interval of writing to the database, in milliseconds. */
const WRITE_MS = 30_000;
/** Most names remembered; beyond that, a use may be written more often. */
const MAX_KNOWN = 100_000;

/** Records when things were last used: to the hour, and in batches outside of requests. */
export abstract class HourlyNotes<Noted> implements AsyncDisposable {
  readonly #clock: () => number;
  readonly #timer: NodeJS.Timeout;
  readonly #known = new Map<string, number>();
  #waiting: Noted[] = [];
  #writing: Promise<void> = Promise.resolve();

  /** @param clock returns milliseconds since 1970 */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#timer = setInterval(() => void this.write(), WRITE_MS).unref();
  }

  /** Stores the noted uses. On rejection they are noted again in an hour. */
  protected abstract store(noted: readonly Noted[], now: number): Promise<void>;

  /** Notes a use, unless one of this name was noted in the last hour. @param noted returns the value to store */
  protected noteOnce(name: string, noted: () => Noted): void {
    const now = this.#clock();
    if (now - (this.#known.get(name) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return;
    this.#known.delete(name);
    this.#known.set(name, now);
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!);
    this.#waiting.push(noted());
  }

  /** Makes the next use of this name count at once. */
  protected forget(name: string): void {
    this.#known.delete(name);
  }

  /** Writes the noted uses. Never rejects. */
  write(): Promise<void> {
    return (this.#writing = this.#writing.then(async () => {
      const noted = this.#waiting.splice(0);
      if (noted.length > 0) await this.store(noted, this.#clock()).catch(() => undefined);
    }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }
}
