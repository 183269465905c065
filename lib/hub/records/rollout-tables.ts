import * as z from "zod";
import { count, json, name, projectId, text, time, yes } from "./columns.ts";

/** A rollout with its rules, how it stands, and the hosts of its waves, as JSON. */
export const rollouts = z.strictObject({
  id: name,
  project_id: projectId,
  version: name,
  /** The version for hosts that may not have the new one. */
  base_version: text.nullable(),
  state: z.enum(["running", "paused", "halted", "completed", "aborted", "replaced"]),
  rules: json,
  standing: json,
  progress: json,
  /** Failures that were reported before do not count. */
  failures_since: time,
  /** Whether hosts that took the version go back. */
  is_withdrawn: yes,
  /** Incremented by each change: of two hubs that decide at once, one finds that it is late. */
  revision: count,
  created_at: time,
  created_by: name,
});
export type RolloutsTable = z.output<typeof rollouts>;
