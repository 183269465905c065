import * as z from "zod";
import { count, json, name, projectId, text, time } from "../../records/columns.ts";
import { projects } from "../../records/core-tables.ts";
import { type RowOf, table } from "../../records/table.ts";

/** Rollouts with their rules, status, and the hosts of their waves, as JSON. */
export const rollouts = table(
  "rollouts",
  {
    id: name,
    project_id: projectId,
    version: name,
    /** Latest open version of the target when the rollout ended; while live, that of the target counts. */
    base_version: text.nullable(),
    state: z.enum(["running", "paused", "halted", "completed", "aborted", "replaced"]),
    rules: json,
    standing: json,
    progress: json,
    /** Time before which reported failures do not count. */
    failures_since: time,
    /** Change number of the owner's view at the start: hosts that first reported later are new. */
    known_changes: count,
    /** Time until which hosts are counted after the end, since they are going back; null for none. */
    counted_until: time.nullable(),
    /** Hosts that halted it, as JSON, until a person resumes it; null for none, and where a hub before 0.3.0 did it. */
    halt: json.nullable(),
    /** Incremented by each change: of two hubs that decide concurrently, one notices that it is late. */
    revision: count,
    created_at: time,
    created_by: name,
  },
  {
    indexes: { rollouts_project: ["project_id", "id"], rollouts_state: ["state"], rollouts_counted: ["counted_until"] },
    references: { project_id: projects },
    defaults: { known_changes: 0, halt: null },
    added: { "0012-halts": { columns: ["halt"], indexes: {} } },
  },
);
export type RolloutsTable = RowOf<typeof rollouts>;
