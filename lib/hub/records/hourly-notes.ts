/** Intervals in milliseconds. */
interface Intervals {
  /** Time in which a use is written once, however often it is noted. */
  everyMs: number;
  /** Time between two writings to the database. */
  writeMs: number;
}

const HOURLY: Intervals = { everyMs: 60 * 60 * 1000, writeMs: 30_000 };
/** Most names remembered; beyond that, a use may be written more often. */
const MAX_KNOWN = 100_000;

/** Records when things were last used: to the hour unless told otherwise, and in batches outside of requests. */
export abstract class HourlyNotes<Noted> implements AsyncDisposable {
  readonly #clock: () => number;
  readonly #everyMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #known = new Map<string, number>();
  #waiting: Noted[] = [];
  #writing: Promise<void> = Promise.resolve();

  /** @param clock returns milliseconds since 1970 */
  constructor(clock: () => number, { everyMs, writeMs } = HOURLY) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#timer = setInterval(() => void this.write(), writeMs).unref();
  }

  /** Stores the noted uses. On rejection they are noted again in the next interval. */
  protected abstract store(noted: readonly Noted[], now: number): Promise<void>;

  /** Notes a use, unless one of this name was noted in the last interval. @param noted returns the value to store */
  protected noteOnce(name: string, noted: () => Noted): void {
    const now = this.#clock();
    if (now - (this.#known.get(name) ?? Number.NEGATIVE_INFINITY) < this.#everyMs) return;
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
