import * as z from "zod";
import { count, json, name, text, time } from "./columns.ts";

/** The newest record of each host, next to the log, so that a fleet view reads one index and nothing else. */
export const hosts = z.strictObject({
  holder: text,
  target: name,
  host_id: name,
  /** The view's change number when this host last changed. */
  change: count,
  report_id: name,
  record: json,
  /** The steps of that report, as JSON; null where it has none. Fleet views do without. */
  steps: json.nullable(),
  /** When it last polled, to the hour; null for one that does not say its name. */
  seen_at: time.nullable(),
  /** Labels as JSON that an operator gave it, in place of its own. */
  labels: json.nullable(),
  /** The view's change number of its first report since it was last forgotten. */
  first_change: count,
  /** By its record alone; it is silent where `heard_at` is long ago. Made with the next two by host-columns.ts. */
  state: z.enum(["failed", "held", "ok"]),
  /** The version that runs, or words in its place. */
  shown_version: text,
  /** The latest of its record's times and `seen_at`. */
  heard_at: time,
});
export type HostsTable = z.output<typeof hosts>;

/** The labels of hosts, as filters find them. */
export const hostLabels = z.strictObject({
  holder: text,
  target: name,
  /** `name=value`, and once more the name alone. */
  label: name,
  host_id: name,
});

/** One row per fleet view: its change counter orders reports, and is the view's ETag and cursor. */
export const views = z.strictObject({
  holder: text,
  target: name,
  changes: count,
  /** The change with which a host was last forgotten; 0 for never. An older cursor says nothing of that host. */
  forgotten: count,
  /** Of its reports in the log: quotas count them. */
  bytes: z.int(),
});
