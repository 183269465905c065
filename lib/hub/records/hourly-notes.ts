/** A use is written down once in this time, however often it is noted. */
const EVERY_MS = 60 * 60 * 1000;
/** The database hears of all that was noted meanwhile at once. */
const WRITE_MS = 30_000;
/** Names that are remembered; beyond, one may be written down more often. */
const MAX_KNOWN = 100_000;

/** Notes when something was last used: to the hour, and in batches beside the requests. */
export abstract class HourlyNotes<Noted> implements AsyncDisposable {
  readonly #clock: () => number;
  readonly #timer: NodeJS.Timeout;
  readonly #known = new Map<string, number>();
  #waiting: Noted[] = [];
  #writing: Promise<void> = Promise.resolve();

  /** @param clock milliseconds since 1970 */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#timer = setInterval(() => void this.write(), WRITE_MS).unref();
  }

  /** Stores what was noted. What it rejects is noted again in an hour. */
  protected abstract store(noted: readonly Noted[], now: number): Promise<void>;

  /** Notes a use now, unless one of the same name was noted in the hour before. @param noted makes what is stored */
  protected noteOnce(name: string, noted: () => Noted): void {
    const now = this.#clock();
    if (now - (this.#known.get(name) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return;
    this.#known.delete(name);
    this.#known.set(name, now);
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!);
    this.#waiting.push(noted());
  }

  /** Has the next use of this name noted at once. */
  protected forget(name: string): void {
    this.#known.delete(name);
  }

  /** Writes down what was noted. Never rejects. */
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
