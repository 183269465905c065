import * as z from "zod";
import { sha256Hex } from "../../contract/identifiers.ts";
import { HOST_SETTINGS } from "../../contract/settings/host-states.ts";
import { count, json, name, text, time, yes } from "./columns.ts";
import { type RowOf, table } from "./table.ts";

/** Append-only log of deployment reports of both surfaces. */
export const reports = table(
  "reports",
  {
    id: name,
    /** Holder of the report's view: on surface A the key's owner, on surface B empty. */
    holder: text,
    /** `plugin/<slug>`, `service/<slug>` or a project id. */
    target: name,
    host_id: name,
    version: text,
    status: z.enum(["success", "failed", "rolled_back"]),
    /**
     * Identity of the deployment in its view (received-reports.ts): a second report of it changes nothing. Null on
     * surface A. Rows of 0.2.0 have the id that the host chose.
     */
    deployment_id: text.nullable(),
    /** Report as JSON, as the routes return it. */
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

/** Newest record of each host, apart from the log, so that a fleet view reads one index and nothing else. */
export const hosts = table(
  "hosts",
  {
    holder: text,
    target: name,
    host_id: name,
    /** Change number of the view when this host last changed. */
    change: count,
    report_id: name,
    record: json,
    /** Steps of that report, as JSON; null where it has none. Fleet views leave them out. */
    steps: json.nullable(),
    /** Time of its last poll, to the hour; null for a host that does not name itself. */
    seen_at: time.nullable(),
    /** Labels that an operator gave it, as JSON; they replace its own. */
    labels: json.nullable(),
    /** Change number of the view at its first report since it was last forgotten. */
    first_change: count,
    /** Whether a key that speaks for it alone, or that of its card, has reported it. From then on no other one may. */
    is_bound: yes,
    /**
     * State by the record alone; a host not heard of since long before counts as silent. This and the next columns are
     * computed by host-columns.ts.
     */
    state: z.enum(["failed", "held", "ok"]),
    /** Running version, or a text in its place. */
    shown_version: text,
    /** Latest time of its record and `seen_at`. */
    heard_at: time,
    /** Since when what it runs is unhealthy, by the host's clock; null for a healthy host. */
    unhealthy_since: time.nullable(),
    /** Version of the trust root that it follows, by its last poll, and the digest of that; null for none. */
    root_version: count.nullable(),
    root_digest: sha256Hex.nullable(),
    /** Settings of the host, as their feature keeps them; null where the project has none at all. */
    settings_number: count.nullable(),
    settings_state: z.enum(HOST_SETTINGS).nullable(),
    settings_of: count.nullable(),
    settings_code: text.nullable(),
    /** Reason for which an operator has taken it out of service; null where it is not. */
    out_of_service: text.nullable(),
    /** Version of its agent, by its last poll or report; null where neither has said it. */
    agent: text.nullable(),
  },
  {
    key: ["holder", "target", "host_id"],
    indexes: { hosts_change: ["holder", "target", "change"], hosts_report: ["report_id"] },
    defaults: {
      first_change: 0,
      is_bound: 0,
      state: "ok",
      shown_version: "",
      heard_at: "9999-12-31T23:59:59.999Z",
      unhealthy_since: null,
      root_version: null,
      root_digest: null,
      ...{ settings_number: null, settings_state: null, settings_of: null, settings_code: null },
      ...{ out_of_service: null, agent: null },
    },
    added: {
      "0002-fleet-lists": {
        columns: ["state", "shown_version", "heard_at"],
        // For lists by state and by version, and their counts, without reading any record.
        indexes: {
          hosts_state: ["holder", "target", "state", "host_id", "heard_at"],
          hosts_version: ["holder", "target", "shown_version", "state", "host_id", "heard_at"],
        },
      },
      "0008-health": {
        columns: ["unhealthy_since"],
        // For the number of unhealthy hosts, without reading the others.
        indexes: { hosts_unhealthy: ["holder", "target", "unhealthy_since", "heard_at"] },
      },
      "0011-trust-roots": {
        columns: ["root_version", "root_digest"],
        // For the numbers of hosts by version of their trust root.
        indexes: { hosts_root: ["holder", "target", "root_version", "root_digest"] },
      },
      "0014-host-settings": {
        columns: ["settings_number", "settings_state", "settings_of", "settings_code"],
        // For the numbers of hosts by state of their settings.
        indexes: { hosts_settings: ["holder", "target", "settings_state"] },
      },
      "0017-out-of-service": { columns: ["out_of_service"], indexes: {} },
      "0015-agents": {
        columns: ["agent"],
        // For the numbers of hosts by version of their agent.
        indexes: { hosts_agent: ["holder", "target", "agent", "heard_at"] },
      },
    },
  },
);
export type HostsTable = RowOf<typeof hosts>;

/** Labels of hosts, for filters. */
export const hostLabels = table(
  "host_labels",
  {
    holder: text,
    target: name,
    /** `name=value`; a second row has the name alone. */
    label: name,
    host_id: name,
  },
  { key: ["holder", "target", "label", "host_id"], since: "0002-fleet-lists" },
);

/** Fleet views. The change counter orders reports, and is the view's ETag and cursor. */
export const views = table(
  "views",
  {
    holder: text,
    target: name,
    changes: count,
    /** Change with which a host was last forgotten; 0 for never. An older cursor may have missed that. */
    forgotten: count,
    /** Bytes of its reports in the log, which count towards quotas. */
    bytes: z.int(),
  },
  { key: ["holder", "target"], defaults: { forgotten: 0, bytes: 0 } },
);
