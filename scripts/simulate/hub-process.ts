/** Hub process of the simulation, with a memory and a clock of its own; its timers wait for its next turn. */
import { RolloutDecider } from "../../lib/hub/features/rollouts/decider.ts";
import type { FleetKey } from "../../lib/hub/records/fleet.ts";
import type { Database } from "../../lib/hub/records/port.ts";
import { Sightings } from "../../lib/hub/records/sightings.ts";

/** Sightings that can be awaited. */
class NotedSightings extends Sightings {
  /** Names of hosts that are being stored. */
  readonly #noted: Promise<void>[] = [];

  constructor({ kysely }: Database, clock: () => number) {
    super(kysely, clock);
  }

  override noteFirst(view: FleetKey, hostId: string, now: number): Promise<void> {
    const stored = super.noteFirst(view, hostId, now);
    this.#noted.push(stored);
    return stored;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#noted.splice(0));
  }
}

export class HubProcess {
  readonly decider: RolloutDecider;
  readonly sightings: NotedSightings;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  #look: () => Promise<void> = async () => {};
  /** Work queued for later. */
  readonly #soon: (() => Promise<void>)[] = [];

  constructor(database: Database, clock: () => number) {
    this.clock = clock;
    this.sightings = new NotedSightings(database, clock);
    this.decider = new RolloutDecider({
      ...{ database, clock, logger: undefined },
      onFailure: () => {
        throw new Error("a decision failed");
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

  /** Does all due work, and checks its rollouts. */
  async turn(): Promise<void> {
    await this.sightings.settled();
    await this.sightings.write();
    for (const work of this.#soon.splice(0)) await work();
    await this.#look();
  }

  async end(): Promise<void> {
    await this.sightings.settled();
    await this.decider[Symbol.asyncDispose]();
    await this.sightings[Symbol.asyncDispose]();
  }
}
