import type { ActionName } from "../../../contract/audit-actions.ts";
import { rollouts as routes } from "../../mounts/rollouts.ts";
import { Rollouts } from "../../rollouts/rollouts.ts";
import type { HubFeature } from "../feature.ts";

/** Deeds that change the versions of a target: a rollout of it is decided about before their answer. */
const DECIDING: ReadonlySet<ActionName> = new Set<ActionName>([
  ...(["version.publish", "version.import", "version.yank", "version.unyank", "version.release"] as const),
  "project.delete",
]);

/** Rollouts: a new version reaches the hosts of a target in waves. */
export const rollouts: HubFeature = {
  name: "rollouts",
  async start({ database, clock, logger, metrics }) {
    const decider = new Rollouts({ database, clock, logger, onFailure: () => metrics?.upkeepFailed("rollouts") });
    return {
      routes: (options) => routes(options, decider),
      async afterDeed({ action, subject }) {
        if (DECIDING.has(action)) await decider.versionsChanged(subject);
      },
      afterReports: (view) => decider.reported(view),
      [Symbol.asyncDispose]: () => decider[Symbol.asyncDispose](),
    };
  },
};
