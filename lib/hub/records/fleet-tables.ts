import * as z from "zod";
import { count, json, name, text, time, yes } from "./columns.ts";
import { type RowOf, table } from "./table.ts";

/** The append-only log of both surfaces. */
export const reports = table(
  "reports",
  {
    id: name,
    /** The holder of the report's view: on surface A the key's owner, on surface B empty. */
    holder: text,
    /** `plugin/<slug>`, `service/<slug>` or a project id. */
    target: name,
    host_id: name,
    version: text,
    status: z.enum(["success", "failed", "rolled_back"]),
    /** Surface B only; a second report with the same one changes nothing. */
    deployment_id: text.nullable(),
    /** JSON, as the routes answer it. */
    record: json,
    created_at: time,
  },
  {
    unique: { reports_deployment: ["holder", "target", "deployment_id"] },
    indexes: {
      reports_history: ["holder", "target", "id"],
      reports_host: ["holder", "target", "host_id", "id"],
      reports_age: ["created_at"],
    },
  },
);
export type ReportsTable = RowOf<typeof reports>;

/** The newest record of each host, next to the log, so that a fleet view reads one index and nothing else. */
export const hosts = table(
  "hosts",
  {
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
    /** Whether a key reported it that speaks for it alone. From then on no other key reports it. */
    is_bound: yes,
    /**
     * State by the record alone; the host is silent where `heard_at` is long ago. Made with the next two by
     * host-columns.ts.
     */
    state: z.enum(["failed", "held", "ok"]),
    /** The version that runs, or words in its place. */
    shown_version: text,
    /** The latest of its record's times and `seen_at`. */
    heard_at: time,
  },
  {
    key: ["holder", "target", "host_id"],
    indexes: { hosts_change: ["holder", "target", "change"], hosts_report: ["report_id"] },
    defaults: { first_change: 0, is_bound: 0, state: "ok", shown_version: "", heard_at: "9999-12-31T23:59:59.999Z" },
    added: {
      "0002-fleet-lists": {
        columns: ["state", "shown_version", "heard_at"],
        // Lists by state and by version, and their counts, without a look at any record.
        indexes: {
          hosts_state: ["holder", "target", "state", "host_id", "heard_at"],
          hosts_version: ["holder", "target", "shown_version", "state", "host_id", "heard_at"],
        },
      },
    },
  },
);
export type HostsTable = RowOf<typeof hosts>;

/** The labels of hosts, as filters find them. */
export const hostLabels = table(
  "host_labels",
  {
    holder: text,
    target: name,
    /** `name=value`, and once more the name alone. */
    label: name,
    host_id: name,
  },
  { key: ["holder", "target", "label", "host_id"], since: "0002-fleet-lists" },
);

/** One row per fleet view: its change counter orders reports, and is the view's ETag and cursor. */
export const views = table(
  "views",
  {
    holder: text,
    target: name,
    changes: count,
    /** The change with which a host was last forgotten; 0 for never. An older cursor says nothing of that host. */
    forgotten: count,
    /** Bytes of its reports in the log, which quotas count. */
    bytes: z.int(),
  },
  { key: ["holder", "target"], defaults: { forgotten: 0, bytes: 0 } },
);
