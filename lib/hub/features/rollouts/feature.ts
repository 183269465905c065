import type { ActionName } from "../../../contract/audit-actions.ts";
import { countByState } from "../../records/rows.ts";
import type { HubFeature } from "../feature.ts";
import { RolloutDecider } from "./decider.ts";
import { countRollouts, removeRollouts, REVISIONS } from "./records.ts";
import { rollouts as routes } from "./routes.ts";
import { rollouts as table } from "./tables.ts";
import { RolloutPart } from "./target-part.ts";

/** Actions that change the versions of a target: its rollout is decided before they are answered. */
const DECIDING: ReadonlySet<ActionName> = new Set<ActionName>([
  ...(["version.publish", "version.import", "version.yank", "version.unyank", "version.release"] as const),
  "project.delete",
]);

/** Rollouts: bring a new version to the hosts of a target in waves. */
export const rollouts: HubFeature = {
  name: "rollouts",
  tables: [table],
  pulse: REVISIONS,
  onTarget: (transaction, target, now) => new RolloutPart(transaction, target, now),
  contentsOf: async (db, { id }) => ({ rollouts: await countRollouts(db, id) }),
  onDelete: (transaction, { id }) => removeRollouts(transaction, id),
  async start({ database, clock, logger, metrics }) {
    const decider = new RolloutDecider({ database, clock, logger, onFailure: () => metrics?.upkeepFailed("rollouts") });
    return {
      routes: (options) => routes(options, decider),
      async afterAudit({ action, subject }) {
        if (DECIDING.has(action)) await decider.versionsChanged(subject);
      },
      afterReports: (view) => decider.reported(view),
      gauges: [
        {
          name: "sealift_hub_rollouts",
          help: "Rollouts by state",
          labels: ["state"],
          read: () => countByState(database.kysely, "rollouts"),
        },
      ],
      [Symbol.asyncDispose]: () => decider[Symbol.asyncDispose](),
    };
  },
};
