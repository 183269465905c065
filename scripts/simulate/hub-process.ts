/** A hub process of the simulation, with a memory and a clock of its own; its timers wait for its next turn. */
import type { Database } from "../../lib/hub/records/port.ts";
import { Sightings } from "../../lib/hub/records/sightings.ts";
import { Rollouts } from "../../lib/hub/rollouts/rollouts.ts";

export class HubProcess {
  readonly rollouts: Rollouts;
  readonly sightings: Sightings;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  #look: () => Promise<void> = async () => {};
  /** Work for a moment later. */
  readonly #soon: (() => Promise<void>)[] = [];
  /** Names of hosts that are being stored. */
  readonly #noted: Promise<void>[] = [];

  constructor(database: Database, clock: () => number) {
    this.clock = clock;
    const sightings = new Sightings(database.kysely, clock);
    this.sightings = sightings;
    this.rollouts = new Rollouts({
      ...{ database, clock, logger: undefined },
      onFailure: () => {
        throw new Error("a decision failed");
      },
      sightings: {
        noteFirst: (view, id, now) => {
          const stored = sightings.noteFirst(view, id, now);
          this.#noted.push(stored);
          return stored;
        },
      },
      timers: {
        every: (_ms, work) => {
          this.#look = work;
          return () => {};
        },
        after: (_ms, work) => {
          this.#soon.push(work);
          return () => {};
        },
      },
    });
  }

  /** Does all that is due, and looks at its rollouts. */
  async turn(): Promise<void> {
    await Promise.all(this.#noted.splice(0));
    await this.sightings.write();
    for (const work of this.#soon.splice(0)) await work();
    await this.#look();
  }

  async end(): Promise<void> {
    await Promise.all(this.#noted);
    await this.rollouts[Symbol.asyncDispose]();
    await this.sightings[Symbol.asyncDispose]();
  }
}
