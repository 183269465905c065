import type { HostSettingsState } from "../../contract/settings/host-states.ts";
import { HOST_STATES, type HostState } from "../../contract/surfaces/host-record.ts";
import { type FleetCounts, MOST_NAMED } from "../../contract/surfaces/reports.ts";
import type { FleetKey } from "./fleet.ts";
import { hosts as hostsTable } from "./fleet-tables.ts";
import { SHOWN_COLUMNS, type ShownHost } from "./host-columns.ts";
import type { PreparedStatements, Value } from "./port.ts";
import { reading, rowsOf } from "./reading.ts";
import { patternOf } from "./rows.ts";

/** Lists of a fleet's hosts by state, one screen at a time, and the fleet in numbers. */

/** Position in a list of hosts: after the host with this state and id. */
export interface FleetCursor {
  state: HostState;
  id: string;
}

/** Filter of a list of hosts. An undefined field matches every host. */
export interface FleetFilter {
  state?: HostState | undefined;
  /** Version, as it is shown. */
  version?: string | undefined;
  /** Label: `name=value`, or a name alone. */
  label?: string | undefined;
  /** Part of the host id, ignoring case. */
  text?: string | undefined;
  /** Version of the trust root; hosts that follow an older one, or none, match. */
  rootBelow?: number | undefined;
  /** State of the host's settings. */
  settings?: HostSettingsState | undefined;
  /** Id of an application that its record names. */
  app?: string | undefined;
}

/** One page of a list. */
interface FleetPage {
  filter: FleetFilter;
  after: FleetCursor | undefined;
  limit: number;
  /** Time before which a host must have been last heard of to be silent; ISO 8601. */
  silentBefore: string;
}

export interface ListedHost extends ShownHost {
  state: HostState;
}

const REPORTED = HOST_STATES.filter((state) => state !== "silent");

/**
 * Most hosts for which a label counts as rare: these are read by id, those of a frequent label through the index of
 * states.
 */
const RARE_HOSTS = 500;
/** Ids per statement. */
const IDS = 250;

const LABELLED = `SELECT host_id FROM host_labels WHERE holder = ? AND target = ? AND label = ?
  ORDER BY host_id LIMIT ${RARE_HOSTS + 1}`;

/** Correlated lookup of a label, once per host: without statistics a planner would join by reading all labels. */
const HAS_LABEL = `(SELECT 1 FROM host_labels l WHERE l.holder = ? AND l.target = ? AND l.label = ?
  AND l.host_id = hosts.host_id LIMIT 1) = 1`;

const AMONG = `host_id IN (${Array(IDS).fill("?").join(", ")})`;

/** Condition of a statement, with its parameters. */
interface Condition {
  text: string;
  values: readonly Value[];
}

/** Builds the conditions of which a host must meet one, for hosts after a given id: several where ids are listed. */
async function labelConditions(
  statements: PreparedStatements,
  { holder, target }: FleetKey,
  label: string,
): Promise<(from: string) => Condition[]> {
  const rows = await statements.all(LABELLED, [holder, target, label]);
  if (rows.length > RARE_HOSTS) return () => [{ text: HAS_LABEL, values: [holder, target, label] }];
  const ids = rows.map((row) => row["host_id"] as string);
  return (from) => {
    const start = ids.findIndex((id) => compareIds(id, from) > 0);
    const parts: Condition[] = [];
    for (let at = start; at >= 0 && at < ids.length; at += IDS) {
      const part = ids.slice(at, at + IDS);
      parts.push({ text: AMONG, values: [...part, ...Array<null>(IDS - part.length).fill(null)] });
    }
    return parts;
  };
}

/**
 * Reads one page of a view's hosts, ordered by state, those that need attention first, then by id. A cursor stays valid
 * when hosts come and go. The cost does not grow with the fleet, unless a filter matches few hosts.
 *
 * @returns at most `limit` hosts, and whether there are more
 */
export async function listHosts(
  statements: PreparedStatements,
  view: FleetKey,
  { filter, after, limit, silentBefore }: FleetPage,
): Promise<{ hosts: ListedHost[]; hasMore: boolean }> {
  const { version, label, text, rootBelow, settings, app } = filter;
  const filters: Condition[] = [];
  if (version !== undefined) filters.push({ text: "shown_version = ?", values: [version] });
  if (text !== undefined) filters.push({ text: "lower(host_id) LIKE ? ESCAPE '!'", values: [patternOf(text)] });
  if (rootBelow !== undefined)
    filters.push({ text: "(root_version IS NULL OR root_version < ?)", values: [rootBelow] });
  if (settings !== undefined) filters.push({ text: "settings_state = ?", values: [settings] });
  // Records are JSON that the hub has written: other texts in them have their quotes escaped.
  if (app !== undefined) filters.push({ text: "record LIKE ? ESCAPE '!'", values: [patternOf(`"${app}":{"state":`)] });
  const labelled = label === undefined ? undefined : await labelConditions(statements, view, label);

  const read = async (stored: HostState, comparison: "<" | ">=", from: string, most: number): Promise<ShownHost[]> => {
    const rows: ShownHost[] = [];
    for (const condition of labelled?.(from) ?? [undefined]) {
      const conditions = condition === undefined ? filters : [...filters, condition];
      const inState = reading(
        hostsTable,
        SHOWN_COLUMNS,
        `WHERE holder = ? AND target = ? AND state = ? AND host_id > ? AND heard_at ${comparison} ?
          ${conditions.map((each) => `AND ${each.text}`).join(" ")}
          ORDER BY host_id LIMIT ?`,
      );
      const values = conditions.flatMap((each) => each.values);
      const of = [view.holder, view.target, stored, from, silentBefore, ...values, most];
      rows.push(...(await rowsOf(statements, inState, of)));
      if (rows.length >= most) break;
    }
    return rows.slice(0, most);
  };

  const first = after === undefined ? 0 : HOST_STATES.indexOf(after.state);
  const hosts: ListedHost[] = [];
  for (const state of HOST_STATES.slice(first)) {
    if (filter.state !== undefined && filter.state !== state) continue;
    const from = state === after?.state ? after.id : "";
    const most = limit + 1 - hosts.length;
    if (most <= 0) break;
    const found =
      state === "silent"
        ? (await Promise.all(REPORTED.map((each) => read(each, "<", from, most)))).flat().sort(byId).slice(0, most)
        : await read(state, ">=", from, most);
    hosts.push(...found.map((row) => ({ ...row, state })));
  }
  return { hosts: hosts.slice(0, limit), hasMore: hosts.length > limit };
}

/** Compares texts by their UTF-8 bytes, as the databases sort. */
const compareIds = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const byId = (a: ShownHost, b: ShownHost) => compareIds(a.host_id, b.host_id);

const STATES = `SELECT state, COUNT(*) AS hosts, SUM(CASE WHEN heard_at < ? THEN 1 ELSE 0 END) AS silent
  FROM hosts WHERE holder = ? AND target = ? GROUP BY state`;
const UNHEALTHY = `SELECT COUNT(*) AS hosts FROM hosts
  WHERE holder = ? AND target = ? AND unhealthy_since IS NOT NULL AND heard_at >= ?`;
const ROOTS = `SELECT root_version, root_digest, COUNT(*) AS hosts FROM hosts
  WHERE holder = ? AND target = ? AND root_version IS NOT NULL GROUP BY root_version, root_digest
  ORDER BY root_version DESC, root_digest DESC LIMIT ${MOST_NAMED}`;
const SETTINGS = `SELECT settings_state, COUNT(*) AS hosts FROM hosts
  WHERE holder = ? AND target = ? AND settings_state IS NOT NULL GROUP BY settings_state`;
const AGENTS = `SELECT agent, COUNT(*) AS hosts FROM hosts
  WHERE holder = ? AND target = ? AND agent IS NOT NULL AND heard_at >= ? GROUP BY agent
  ORDER BY agent LIMIT ${MOST_NAMED}`;
const VERSIONS = `SELECT shown_version, COUNT(*) AS hosts,
    SUM(CASE WHEN state = 'failed' AND heard_at >= ? THEN 1 ELSE 0 END) AS failing
  FROM hosts WHERE holder = ? AND target = ? GROUP BY shown_version
  ORDER BY hosts DESC, shown_version LIMIT ${MOST_NAMED}`;
/** Finds each distinct label by one index lookup after the previous one, instead of reading all rows. */
const LABELS = `WITH RECURSIVE found (label) AS (
    SELECT MIN(label) FROM host_labels WHERE holder = ? AND target = ?
    UNION ALL
    SELECT (SELECT MIN(l.label) FROM host_labels l WHERE l.holder = ? AND l.target = ? AND l.label > found.label)
      FROM found WHERE found.label IS NOT NULL)
  SELECT label FROM (SELECT label FROM found LIMIT ${3 * MOST_NAMED}) f WHERE label LIKE '%=%' LIMIT ${MOST_NAMED}`;

/** Counts the hosts of a view by state and by version: a walk through two indexes. */
export async function countHosts(
  statements: PreparedStatements,
  { holder, target }: FleetKey,
  silentBefore: string,
): Promise<FleetCounts> {
  const states = { failed: 0, held: 0, ok: 0, silent: 0 };
  for (const row of await statements.all(STATES, [silentBefore, holder, target])) {
    const silent = Number(row["silent"]);
    states[row["state"] as (typeof REPORTED)[number]] = Number(row["hosts"]) - silent;
    states.silent += silent;
  }
  const versions = await statements.all(VERSIONS, [silentBefore, holder, target]);
  const labels = await statements.all(LABELS, [holder, target, holder, target]);
  const roots = await statements.all(ROOTS, [holder, target]);
  const unhealthy = await statements.first(UNHEALTHY, [holder, target, silentBefore]);
  const settings = await statements.all(SETTINGS, [holder, target]);
  const agents = await statements.all(AGENTS, [holder, target, silentBefore]);
  return {
    hosts: Object.values(states).reduce((sum, count) => sum + count, 0),
    states,
    versions: versions.map((row) => ({
      version: row["shown_version"] as string,
      hosts: Number(row["hosts"]),
      failing: Number(row["failing"]),
    })),
    labels: labels.map((row) => row["label"] as string),
    unhealthy: Number(unhealthy?.["hosts"] ?? 0),
    ...(roots.length > 0 && {
      roots: roots.map((row) => ({
        version: Number(row["root_version"]),
        digest: row["root_digest"] as string,
        hosts: Number(row["hosts"]),
      })),
    }),
    ...(settings.length > 0 && {
      settings: Object.fromEntries(settings.map((row) => [String(row["settings_state"]), Number(row["hosts"])])),
    }),
    ...(agents.length > 0 && {
      agents: agents
        .map((row) => ({ agent: row["agent"] as string, hosts: Number(row["hosts"]) }))
        .sort((a, b) => b.hosts - a.hosts),
    }),
  };
}
