import type { Queries } from "./port.ts";

/** A key that is used all the time is written down once in this time. */
const EVERY_MS = 60 * 60 * 1000;
/** The database hears of all that were used meanwhile at once. */
const WRITE_MS = 30_000;
/** Keys that are remembered; beyond, one may be written down more often. */
const MAX_KNOWN = 100_000;

/** Notes when keys were last used: to the hour, and in batches beside the requests. */
export class KeyUse implements AsyncDisposable {
  readonly #db: Queries;
  readonly #clock: () => number;
  readonly #timer: NodeJS.Timeout;
  readonly #known = new Map<string, number>();
  #waiting: string[] = [];
  #writing: Promise<void> = Promise.resolve();

  /** @param clock milliseconds since 1970 */
  constructor(db: Queries, clock: () => number) {
    this.#db = db;
    this.#clock = clock;
    this.#timer = setInterval(() => void this.write(), WRITE_MS).unref();
  }

  /** Notes the use of a key. */
  note(keyId: string): void {
    const now = this.#clock();
    const last = this.#known.get(keyId);
    if (last !== undefined && now - last < EVERY_MS) return;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(keyId, now);
    this.#waiting.push(keyId);
  }

  /** Writes down what was noted. Never rejects: what cannot be written is noted again in an hour. */
  write(): Promise<void> {
    this.#writing = this.#writing
      .then(
        async () => {
          const ids = this.#waiting.splice(0);
          if (ids.length === 0) return;
          const last_used_at = new Date(this.#clock()).toISOString();
          await this.#db.updateTable("api_keys").set({ last_used_at }).where("id", "in", ids).execute();
        },
        () => undefined,
      )
      .catch(() => undefined);
    return this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }
}
