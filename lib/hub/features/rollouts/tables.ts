import * as z from "zod";
import { count, json, name, projectId, text, time } from "../../records/columns.ts";
import { projects } from "../../records/core-tables.ts";
import { type RowOf, table } from "../../records/table.ts";

/** A rollout with its rules, how it stands, and the hosts of its waves, as JSON. */
export const rollouts = table(
  "rollouts",
  {
    id: name,
    project_id: projectId,
    version: name,
    /** The latest open version of the target at its end; that of the target itself counts while it is live. */
    base_version: text.nullable(),
    state: z.enum(["running", "paused", "halted", "completed", "aborted", "replaced"]),
    rules: json,
    standing: json,
    progress: json,
    /** Failures that were reported before do not count. */
    failures_since: time,
    /** The change number of the owner's view at the start: hosts that reported first after it are new. */
    known_changes: count,
    /** Hosts are counted until then although it has ended: they are going back. */
    counted_until: time.nullable(),
    /** Incremented by each change: of two hubs that decide at once, one finds that it is late. */
    revision: count,
    created_at: time,
    created_by: name,
  },
  {
    indexes: { rollouts_project: ["project_id", "id"], rollouts_state: ["state"], rollouts_counted: ["counted_until"] },
    references: { project_id: projects },
    defaults: { known_changes: 0 },
  },
);
export type RolloutsTable = RowOf<typeof rollouts>;
