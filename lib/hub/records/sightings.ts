import type { IncomingHttpHeaders } from "node:http";
import { hostId } from "../../contract/identifiers.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import type { View } from "./fleet.ts";
import type { Queries } from "./port.ts";

/** A host that polls each minute is written down once in this time. */
const EVERY_MS = 60 * 60 * 1000;
/** The database hears of all that were seen meanwhile at once. */
const WRITE_MS = 30_000;
/** Hosts that are remembered; beyond, one may be written down more often. */
const MAX_KNOWN = 100_000;
/** Hosts of one statement. */
const BATCH = 200;

const HEADER = HEADERS.host.toLowerCase();

interface Seen extends View {
  hostId: string;
  at: number;
}

/** Notes when hosts that say their name ask for the latest version, for fleet views: to the hour, in batches. */
export class Sightings implements AsyncDisposable {
  readonly #db: Queries;
  readonly #clock: () => number;
  readonly #known = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #waiting: Seen[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Queries, clock: () => number) {
    this.#db = db;
    this.#clock = clock;
    this.#timer = setInterval(() => void this.write(), WRITE_MS).unref();
  }

  /** Notes the host of an authorized poll, if it says its name. */
  note({ headers }: { headers: IncomingHttpHeaders }, view: View): void {
    const host = hostOf(headers);
    if (host === undefined) return;
    const key = JSON.stringify([view.holder, view.target, host]);
    const at = this.#clock();
    if (at - (this.#known.get(key) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return;
    this.#known.delete(key);
    this.#known.set(key, at);
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!);
    this.#waiting.push({ ...view, hostId: host, at });
  }

  /** Writes down what was noted. What the database does not take is noted again in an hour. Never rejects. */
  write(): Promise<void> {
    return (this.#writing = this.#writing.then(async () => {
      const seen = this.#waiting;
      this.#waiting = [];
      for (const group of Map.groupBy(seen, ({ holder, target }) => JSON.stringify([holder, target])).values()) {
        for (let start = 0; start < group.length; start += BATCH) {
          await this.#writeBatch(group.slice(start, start + BATCH)).catch(() => undefined);
        }
      }
    }));
  }

  async #writeBatch(batch: readonly Seen[]): Promise<void> {
    const { holder, target, at } = batch[0]!;
    await this.#db
      .updateTable("hosts")
      .set({ seen_at: new Date(at).toISOString() })
      .where("holder", "=", holder)
      .where("target", "=", target)
      .where(
        "host_id",
        "in",
        batch.map(({ hostId: id }) => id),
      )
      .execute();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }
}

/** Returns the host that a request names, if it does. */
export function hostOf(headers: IncomingHttpHeaders): string | undefined {
  const given = headers[HEADER];
  if (typeof given !== "string" || given.length > 1024) return undefined;
  try {
    return hostId.safeParse(decodeURIComponent(given)).data;
  } catch {
    return undefined;
  }
}
