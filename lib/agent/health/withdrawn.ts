import { asSealiftError } from "../../contract/errors.ts";
import { grantOf } from "../../contract/files/granted.ts";
import { readGrants } from "../../releases/applications.ts";
import { isApplication, type Layout } from "../../releases/layout.ts";
import { unitKey } from "../../releases/names.ts";
import type { Release } from "../../releases/release.ts";
import { supervisorOf } from "../deployment/supervision.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";

/** Applications whose grant was withdrawn, and what became of them. */
export interface Withdrawn {
  /** Ids that were stopped now. */
  stopped: string[];
  /** Why others could not be stopped, each told once. */
  faults: string[];
}

/** Stops applications whose grant the operator has withdrawn: a supervisor that runs them does not read it again. */
export class Withdrawals {
  /** Ids that were stopped, until they are granted again. */
  readonly #stopped = new Set<string>();
  /** Last fault of those that could not be stopped. */
  readonly #faults = new Map<string, string>();

  /**
   * Stops what a release has and the operator grants no longer, each once. One that cannot be stopped is tried again at
   * the next call, and hinders nobody else.
   *
   * @throws UsageError `config_invalid`; the reason of the signal
   */
  async stop(layout: Layout, { items }: Release, choice: SupervisorChoice, signal: AbortSignal): Promise<Withdrawn> {
    const found: Withdrawn = { stopped: [], faults: [] };
    const apps = items.filter(isApplication);
    if (apps.length === 0) return found;
    const grants = await readGrants(layout);
    // Without the file nobody says which program runs them.
    if (grants === undefined) return found;
    for (const item of apps) {
      const { id } = item;
      if (grantOf(grants.applications, id) !== undefined) {
        this.#stopped.delete(id);
        this.#faults.delete(id);
      } else if (!this.#stopped.has(id)) {
        const fault = await supervisorOf(layout, choice, items)
          .stop(unitKey(item), signal)
          .then(() => undefined, wordsOf);
        signal.throwIfAborted();
        if (fault === undefined) {
          this.#stopped.add(id);
          found.stopped.push(id);
        } else if (fault !== this.#faults.get(id)) {
          this.#faults.set(id, fault);
          found.faults.push(
            `The application ${id}, which applications.yaml grants no longer, is not stopped: ${fault}`,
          );
        }
      }
    }
    return found;
  }
}

const wordsOf = (error: unknown): string => asSealiftError(error).message;
