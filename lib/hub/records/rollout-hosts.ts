import type { View } from "./fleet.ts";
import type { Queries, Row, Statements, Transacted } from "./port.ts";
import { selectWhere, updateWhere } from "./rows.ts";
import type { HostsTable } from "./schema.ts";

/** The hosts of a view, as rollouts read them. */

/** Hosts of one page. */
const PAGE_HOSTS = 500;

const HOST = "SELECT record, steps, labels FROM hosts WHERE holder = ? AND target = ? AND host_id = ?";
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

/** Reads the record of a host, its steps, and the labels that an operator gave it: one indexed read. */
export async function findHost(
  statements: Statements,
  { holder, target }: View,
  hostId: string,
): Promise<Pick<HostsTable, "record" | "steps" | "labels"> | undefined> {
  return (await statements.first(HOST, [holder, target, hostId])) as HostsTable | undefined;
}

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

/**
 * Gives a host labels in place of those that it has of itself; null takes that back.
 *
 * @returns false when the view has no such host
 */
export async function labelHost(
  transaction: Transacted,
  { holder, target }: View,
  hostId: string,
  labels: string | null,
): Promise<boolean> {
  // The view's row first, as reports do.
  const change = await nextChange(transaction, { holder, target });
  if (change === undefined) return false;
  const { numUpdatedRows } = await updateWhere(transaction, "hosts", { holder, target, host_id: hostId })
    .set({ labels, change })
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Notes that hosts say their names in their polls, as soon as the hub hears of it: from then on rollouts count them.
 * The view's change number tells every hub.
 *
 * @param now ISO 8601
 */
export async function nameHosts(
  transaction: Transacted,
  { holder, target }: View,
  hostIds: readonly string[],
  now: string,
): Promise<void> {
  const change = await nextChange(transaction, { holder, target });
  if (change === undefined) return;
  await updateWhere(transaction, "hosts", { holder, target, seen_at: null })
    .where("host_id", "in", hostIds)
    .set({ seen_at: now, change })
    .execute();
}

/** Takes the next change number of a view, and its row's lock, which keeps changes in their order. */
async function nextChange(transaction: Transacted, { holder, target }: View): Promise<number | undefined> {
  const view = await updateWhere(transaction, "views", { holder, target })
    .set((eb) => ({ changes: eb("changes", "+", 1) }))
    .returning("changes")
    .executeTakeFirst();
  return view && Number(view.changes);
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
