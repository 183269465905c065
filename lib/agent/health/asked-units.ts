import { asSealiftError } from "../../contract/errors.ts";
import { isApplication, type Layout } from "../../releases/layout.ts";
import { unitKey } from "../../releases/names.ts";
import type { Release } from "../../releases/release.ts";
import { pluginsAmong, supervisorOf } from "../deployment/supervision.ts";
import type { Sample, SupervisorChoice } from "../supervisors/supervisor.ts";

/** Time limit of a look at a unit's process, in milliseconds. */
const LOOK_MS = 10_000;

/** Unit whose health is asked after its deployment. */
export interface AskedUnit {
  /** `apps/<id>`, a plugin, or `project`. */
  name: string;
  /** Looks at it once. @throws only the reason of the signal */
  look: (signal: AbortSignal) => Promise<Sample>;
}

/**
 * Lists the units of a running release that are asked: its applications, and units of its plugins, or the project's
 * own, for which the operator gave a health URL.
 */
export function askedUnits(layout: Layout, { items }: Release, choice: SupervisorChoice): AskedUnit[] {
  const supervisor = supervisorOf(layout, choice, items);
  const plugins = new Set<string | null>([null, ...pluginsAmong(items)]);
  const withUrl = (supervisor.asked ?? []).filter((unit) => plugins.has(unit));
  return [...items.filter(isApplication).map(unitKey), ...withUrl].map((unit) => ({
    name: unit ?? "project",
    async look(signal) {
      try {
        return await supervisor.look!(unit, LOOK_MS, signal);
      } catch (error) {
        signal.throwIfAborted();
        return { fault: asSealiftError(error).message.replace(/\.$/, ""), restarts: 0 };
      }
    },
  }));
}
