import type { IncomingHttpHeaders } from "node:http";
import { HEADERS } from "../../../contract/surfaces/headers.ts";
import type { Principal } from "../../base/principal.ts";
import { HourlyNotes } from "../../records/hourly-notes.ts";
import type { Queries } from "../../records/port.ts";
import { type Heard, noteMachines } from "./host-records.ts";

const HEADER = HEADERS.instance.toLowerCase();
const INSTANCE = /^[A-Za-z0-9_-]{8,64}$/;

/** Most hosts whose last machine is remembered. */
const MAX_HOSTS = 100_000;

/** Most turns of one host from one writing to the next: beyond, its key is used by a flood of names. */
const MAX_TURNS = 16;

/**
 * Interval at which the machine of a host is compared with the one that spoke last, perhaps to another hub, and of the
 * writing, in milliseconds: four of them notice a clone within a minute.
 */
const LOOK_MS = 10_000;

/** Records which machines speak for a host, whatever hubs they poll, and whenever the machine changes. */
export class Clones extends HourlyNotes<Heard> {
  readonly #db: Queries;
  readonly #clock: () => number;
  readonly #last = new Map<string, string>();
  /** Hosts whose machine has changed since the last write, with the number of changes. */
  readonly #turns = new Map<string, number>();

  /** @param clock returns milliseconds since 1970 */
  constructor(db: Queries, clock: () => number) {
    super(clock, { everyMs: LOOK_MS, writeMs: LOOK_MS });
    this.#db = db;
    this.#clock = clock;
  }

  /** Records the machine of a request, if the request names one. */
  note(request: { headers: IncomingHttpHeaders; ip: string }, { host, projectId }: Principal): void {
    const instance = request.headers[HEADER];
    if (typeof instance !== "string" || host === null || projectId === null) return;
    const named = `${projectId} ${host}`;
    const name = `${named} ${instance}`;
    const last = this.#last.get(named);
    if (last !== name) {
      const turns = this.#turns.get(named) ?? 0;
      if (turns === MAX_TURNS || !INSTANCE.test(instance)) return;
      this.#turns.set(named, turns + 1);
      if (last !== undefined) this.forget(last);
      this.#last.set(named, name);
      if (this.#last.size > MAX_HOSTS) this.#last.delete(this.#last.keys().next().value!);
    }
    this.noteOnce(name, () => {
      const at = new Date(this.#clock()).toISOString();
      return { project_id: projectId, host_id: host, machine: { instance, address: request.ip, at } };
    });
  }

  protected override store(heard: readonly Heard[], now: number): Promise<void> {
    this.#turns.clear();
    return noteMachines(this.#db, heard, now);
  }
}
