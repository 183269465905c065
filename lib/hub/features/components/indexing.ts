import { setTimeout as sleep } from "node:timers/promises";
import type { Component } from "../../../artifact/statements/cyclonedx.ts";
import type { Logger } from "../../../support/logging.ts";
import type { Blobs } from "../../blobs/port.ts";
import type { Records } from "../../records/port.ts";
import { forgetUnused, storeList, unindexed } from "./records.ts";

/** Age after which an unfinished indexing counts as interrupted, in milliseconds. */
const BROKEN_OFF_MS = 10 * 60 * 1000;
/** Attempts to number rows: when two hubs do so at the same moment, one fails and retries. */
const ATTEMPTS = 5;
const PAUSE_MS = 50;
/** Components checked per hour for whether any version still has them. */
const HOURLY_COMPONENTS = 20_000;

/** Indexes the SBOMs of stored versions: at publication, and later any that were missed. */
export class Indexing {
  readonly #hub: Records & { blobs: Blobs; logger: Logger | undefined };
  /** Indexing under way. SBOMs are indexed one at a time to save memory. */
  #last: Promise<unknown> = Promise.resolve();
  #unusedFrom = 0;

  constructor(hub: Records & { blobs: Blobs; logger: Logger | undefined }) {
    this.#hub = hub;
  }

  /** Indexes what is not indexed yet. @param projectId undefined for all projects. Never rejects */
  index(projectId?: string): Promise<void> {
    const done = this.#last.then(() => this.#indexAll(projectId));
    this.#last = done;
    return done;
  }

  /** Removes components of deleted versions, in small steps. */
  async forget(): Promise<void> {
    this.#unusedFrom = await forgetUnused(this.#hub.database.kysely, this.#unusedFrom, HOURLY_COMPONENTS);
  }

  async #indexAll(projectId: string | undefined): Promise<void> {
    const { database, clock, logger } = this.#hub;
    const before = new Date(clock() - BROKEN_OFF_MS).toISOString();
    try {
      for (const blob of await unindexed(database.kysely, projectId, before))
        await this.#indexOne(blob).catch((error: unknown) => {
          logger?.warn({ err: error, blob }, "an SBOM waits to be indexed");
        });
    } catch (error) {
      logger?.warn({ err: error }, "SBOMs wait to be indexed");
    }
  }

  async #indexOne(blob: string): Promise<void> {
    const { database, blobs, now } = this.#hub;
    const { readBill } = await import("../../../artifact/statements/cyclonedx.ts");
    const found: Component[] = [];
    await readBill(await blobs.read(blob), (component) => void found.push(component));
    for (let attempt = 1; ; attempt++) {
      try {
        return await storeList(database.kysely, blob, found, now());
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
        await sleep(PAUSE_MS * attempt * Math.random());
      }
    }
  }
}
