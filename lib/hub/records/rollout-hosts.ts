import type { View } from "./fleet.ts";
import type { HostsTable } from "./fleet-tables.ts";
import type { Queries, Row, Statements } from "./port.ts";
import { selectWhere } from "./rows.ts";

/** The hosts of a view, as rollouts read them. */

/** Hosts of one page. */
const PAGE_HOSTS = 500;

const CHANGED = `SELECT host_id, change, record, seen_at, labels, first_change FROM hosts
  WHERE holder = ? AND target = ? AND change > ? ORDER BY change LIMIT ${PAGE_HOSTS}`;

/** A host as its poll's statement reads it where the target has a gate. */
export interface PollingHost {
  record: string;
  /** Labels that an operator gave it, as JSON. */
  labels: string | null;
  seenAt: string | null;
  firstChange: number;
}

/** The columns of {@link PollingHost}, from `hosts h`. */
export const POLLING_HOST = `h.record AS host_record, h.labels AS host_labels, h.seen_at AS host_seen_at,
    h.first_change AS host_first_change`;

/**
 * Joins the polling host to `projects p`, with one parameter: its id, or null. Without a gate the index is asked for
 * null, which no row has.
 *
 * @param holder of the view, and `target`, as SQL
 */
export const joinPollingHost = (holder: string, target: string): string =>
  `LEFT JOIN hosts h ON h.holder = ${holder} AND h.target = ${target}
    AND h.host_id = CASE WHEN p.rollout IS NULL THEN NULL ELSE CAST(? AS text) END`;

export const pollingHostOf = (row: Row): PollingHost | undefined =>
  row["host_record"] === null
    ? undefined
    : {
        record: row["host_record"] as string,
        labels: row["host_labels"] as string | null,
        seenAt: row["host_seen_at"] as string | null,
        firstChange: Number(row["host_first_change"]),
      };

type ChangedHost = Pick<HostsTable, "host_id" | "change" | "record" | "seen_at" | "labels" | "first_change">;

/** Reads the hosts of a view that changed after a change, page by page in the order of their changes. */
export async function* changedHosts(
  statements: Statements,
  { holder, target }: View,
  since: number,
): AsyncGenerator<ChangedHost[]> {
  for (let after = since; ;) {
    const page = (await statements.all(CHANGED, [holder, target, after])) as unknown as ChangedHost[];
    if (page.length > 0) yield page;
    if (page.length < PAGE_HOSTS) return;
    after = Number(page.at(-1)!.change);
  }
}

/** Reads the labels of the hosts of a view that say their name, page by page. */
export async function* namedHosts(
  db: Queries,
  { holder, target }: View,
): AsyncGenerator<Pick<HostsTable, "record" | "labels">[]> {
  for (let after = ""; ;) {
    const page = await selectWhere(db, "hosts", { holder, target })
      .select(["host_id", "record", "labels"])
      .where("seen_at", "is not", null)
      .where("host_id", ">", after)
      .orderBy("host_id")
      .limit(PAGE_HOSTS)
      .execute();
    yield page;
    if (page.length < PAGE_HOSTS) return;
    after = page.at(-1)!.host_id;
  }
}

/** Reads the newest change number of a view; 0 before its first report. */
export async function changesOf(db: Queries, { holder, target }: View): Promise<number> {
  const row = await selectWhere(db, "views", { holder, target }).select("changes").executeTakeFirst();
  return Number(row?.changes ?? 0);
}
