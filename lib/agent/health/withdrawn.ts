import { readGrants } from "../../releases/applications.ts";
import { isApplication, type Layout } from "../../releases/layout.ts";
import { unitKey } from "../../releases/names.ts";
import type { Release } from "../../releases/release.ts";
import { supervisorOf } from "../deployment/supervision.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";

/** Stops applications whose grant the operator has withdrawn: a supervisor that runs them does not read it again. */
export class Withdrawals {
  /** Ids that were stopped, until they are granted again. */
  readonly #stopped = new Set<string>();

  /**
   * Stops what a release has and the operator grants no longer, each once.
   *
   * @returns the ids that were stopped now
   * @throws DeploymentError, UsageError `config_invalid`
   */
  async stop(layout: Layout, { items }: Release, choice: SupervisorChoice, signal: AbortSignal): Promise<string[]> {
    const apps = items.filter(isApplication);
    if (apps.length === 0) return [];
    const grants = await readGrants(layout);
    // Without the file nobody says which program runs them.
    if (grants === undefined) return [];
    const stopped: string[] = [];
    for (const item of apps) {
      if (grants.applications[item.id] !== undefined) this.#stopped.delete(item.id);
      else if (!this.#stopped.has(item.id)) {
        await supervisorOf(layout, choice, items).stop(unitKey(item), signal);
        this.#stopped.add(item.id);
        stopped.push(item.id);
      }
    }
    return stopped;
  }
}
