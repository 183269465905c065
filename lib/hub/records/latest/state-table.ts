import * as z from "zod";
import { STATE_CAUSES, VERSION_STATES } from "../../../contract/version-states.ts";
import { name, projectId, text, time, yes } from "../columns.ts";
import { projects } from "../core-tables.ts";
import { type RowOf, table } from "../table.ts";

/** States of versions that are not open, for all kinds of targets. An open version has no row. */
export const versionStates = table(
  "version_states",
  {
    project_id: projectId,
    version: name,
    state: z.enum(VERSION_STATES),
    cause: z.enum(STATE_CAUSES),
    /** Id of the rollout that caused it, which may have been pruned since. */
    rollout_id: name,
    /** When the version entered the state. */
    since: time,
    /** Free text of the hub or of a person. */
    reason: text.nullable(),
    /** Whether hosts that run the version are to go back. */
    is_taken_back: yes,
    /** When `version.held` was last sent; null while the version rolls. */
    told_at: time.nullable(),
  },
  { key: ["project_id", "version"], references: { project_id: projects } },
);
export type VersionStatesTable = RowOf<typeof versionStates>;
