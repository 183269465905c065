import * as z from "zod";
import { type HostRecord, keptFacts } from "../../contract/facts/host.ts";
import type { Labels } from "../../contract/labels.ts";
import { lastHeard, reportedState, shownVersion, unhealthySince } from "../../contract/surfaces/host-record.ts";
import type { HostsTable } from "./fleet-tables.ts";

/** Host as its record is stored: facts in columns of their own, and those that depend on the time, are not in it. */
export type StoredRecord = Omit<HostRecord, KeptFact | "state">;

/** Names of the facts that have columns of their own. */
export const KEPT_FACTS = z.object(keptFacts).keyof().options;
type KeptFact = keyof typeof keptFacts;

/** Columns from which the answers about a host are made. */
export const SHOWN_COLUMNS = ["host_id", "record", ...KEPT_FACTS, "labels"] as const;
/** Host as answers are made from it. */
export type ShownHost = Pick<HostsTable, (typeof SHOWN_COLUMNS)[number]>;

/** Columns computed from a host's record, for filters and the order of lists. */
export type HostColumns = Pick<HostsTable, "state" | "shown_version" | "heard_at" | "unhealthy_since">;

/** Last moment that ISO 8601 writes with a four-digit year: later ones do not sort. */
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Formats a time so that it sorts in the databases. @param ms since 1970; undefined for a host that is never silent */
const sortedTime = (ms = LAST_MS): string => new Date(Math.min(Math.max(ms, 0), LAST_MS)).toISOString();

/** Makes the columns of a host from its record and its last poll. */
export const columnsOf = (record: StoredRecord, seenAt: string | null): HostColumns => ({
  state: reportedState(record),
  shown_version: shownVersion(record),
  heard_at: sortedTime(lastHeard({ ...record, seen_at: seenAt })),
  unhealthy_since: sinceColumn(unhealthySince(record), record),
});

/** Formats since when a host is unhealthy: by its own words, or by its report where they are no time. */
function sinceColumn(since: string | undefined, { created_at: at }: StoredRecord): string | null {
  if (since === undefined) return null;
  const ms = Date.parse(since);
  return sortedTime(Number.isNaN(ms) ? Date.parse(at) : ms);
}

/** Returns the labels of a host: those given by an operator, else its own. */
export const labelsOf = (record: Pick<StoredRecord, "labels">, given: string | null): Labels =>
  given === null ? (record.labels ?? {}) : (JSON.parse(given) as Labels);

/** Lists the rows that find a host by its labels: by `name=value`, and by the name alone. */
export const labelRows = (labels: Labels): string[] =>
  Object.entries(labels).flatMap(([name, value]) => [name, `${name}=${value}`]);
