import { setImmediate as nextTurn } from "node:timers/promises";
import { type Insertable, sql } from "kysely";
import type { FleetKey } from "./fleet.ts";
import type { HostsTable } from "./fleet-tables.ts";
import { hooksOf } from "./hooks.ts";
import { columnsOf, labelRows, labelsOf, type StoredRecord } from "./host-columns.ts";
import { addLabels, changeLabels, rowsOf } from "./label-rows.ts";
import type { Queries, Transacted } from "./port.ts";
import { deleteWhere, selectWhere, updateWhere } from "./rows.ts";

/**
 * Every write of hosts: by reports, polls, labels and removals. In the same transaction a write also renews the columns
 * computed from the row, and the rows of its labels.
 */

/** Hosts per page. */
const PAGE_HOSTS = 500;

/** Newest record of a host, about to be stored in a view. */
export interface NewHost extends Pick<
  HostsTable,
  "host_id" | "change" | "report_id" | "steps" | "seen_at" | "is_bound" | "root_version" | "root_digest" | "agent"
> {
  record: StoredRecord;
  first_change: number;
}

type StoredHost = Pick<HostsTable, "host_id" | "record" | "labels" | "is_bound">;

/** Reads hosts of a view before a change, by their ids. */
export async function hostsBefore(
  db: Queries,
  { holder, target }: FleetKey,
  ids: readonly string[],
): Promise<Map<string, StoredHost>> {
  const rows = await selectWhere(db, "hosts", { holder, target })
    .select(["host_id", "record", "labels", "is_bound"])
    .where("host_id", "in", [...new Set(ids)])
    .execute();
  return new Map(rows.map((row) => [row.host_id, row]));
}

const recordOf = ({ record }: Pick<StoredHost, "record">) => JSON.parse(record) as StoredRecord;

/** Sets a time, unless the column holds a later one: clocks of several hubs differ. */
export const later = (column: "seen_at" | "heard_at", time: string) =>
  sql<string>`case when hosts.${sql.ref(column)} > ${time} then hosts.${sql.ref(column)} else ${time} end`;

/**
 * Stores reports as the newest records of their hosts. The caller has locked the view's row.
 *
 * @param before present rows of those hosts
 */
export async function storeHosts(
  transaction: Transacted,
  view: FleetKey,
  hosts: readonly NewHost[],
  before: ReadonlyMap<string, StoredHost>,
): Promise<void> {
  const { holder, target } = view;
  const rows = hosts.map((host): Insertable<HostsTable> => ({
    ...host,
    ...{ holder, target, labels: null, record: JSON.stringify(host.record) },
    ...columnsOf(host.record, host.seen_at),
  }));
  await transaction
    .insertInto("hosts")
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(["holder", "target", "host_id"]).doUpdateSet((eb) => ({
        change: eb.ref("excluded.change"),
        report_id: eb.ref("excluded.report_id"),
        record: eb.ref("excluded.record"),
        steps: eb.ref("excluded.steps"),
        is_bound: eb.ref("excluded.is_bound"),
        state: eb.ref("excluded.state"),
        shown_version: eb.ref("excluded.shown_version"),
        unhealthy_since: eb.ref("excluded.unhealthy_since"),
        root_version: eb.fn.coalesce("excluded.root_version", "hosts.root_version"),
        root_digest: eb.fn.coalesce("excluded.root_digest", "hosts.root_digest"),
        agent: eb.fn.coalesce("excluded.agent", "hosts.agent"),
        // A poll may be recorded between the reading of the row and this.
        seen_at: sql<string>`case when excluded.seen_at is null or hosts.seen_at > excluded.seen_at
          then hosts.seen_at else excluded.seen_at end`,
        heard_at: sql<string>`case when hosts.seen_at > excluded.heard_at
          then hosts.seen_at else excluded.heard_at end`,
      })),
    )
    .execute();
  const changes = hosts.map(({ host_id: hostId, record }) => {
    const known = before.get(hostId);
    return {
      hostId,
      from: known === undefined ? {} : labelsOf(recordOf(known), known.labels),
      to: labelsOf(record, known?.labels ?? null),
    };
  });
  await changeLabels(transaction, view, changes);
  const entered = hosts.map(({ host_id: id }) => id).filter((id) => !before.has(id));
  if (entered.length === 0) return;
  for (const hooks of hooksOf(transaction)) await hooks.onHosts?.(transaction, view, entered);
}

/**
 * Records at once that hosts name themselves in polls: features count them from then on. The view's change number tells
 * every hub.
 *
 * @param now ISO 8601
 */
export async function nameHosts(
  transaction: Transacted,
  view: FleetKey,
  hostIds: readonly string[],
  now: string,
): Promise<void> {
  const change = await nextChange(transaction, view);
  if (change === undefined) return;
  const { holder, target } = view;
  await updateWhere(transaction, "hosts", { holder, target, seen_at: null })
    .where("host_id", "in", hostIds)
    .set({ seen_at: now, change, heard_at: later("heard_at", now) })
    .execute();
}

/**
 * Gives a host labels that replace its own; null removes them.
 *
 * @returns false when the view has no such host
 */
export async function labelHost(
  transaction: Transacted,
  view: FleetKey,
  hostId: string,
  labels: string | null,
): Promise<boolean> {
  // Locks the view's row first, as reports do.
  const change = await nextChange(transaction, view);
  const host = (await hostsBefore(transaction, view, [hostId])).get(hostId);
  if (change === undefined || host === undefined) return false;
  const { holder, target } = view;
  await updateWhere(transaction, "hosts", { holder, target, host_id: hostId }).set({ labels, change }).execute();
  const record = recordOf(host);
  await changeLabels(transaction, view, [
    { hostId, from: labelsOf(record, host.labels), to: labelsOf(record, labels) },
  ]);
  return true;
}

/** Takes a host out of service, for a reason, or back into it. @returns false when the view has no such host */
export async function serveHost(
  transaction: Transacted,
  { holder, target }: FleetKey,
  hostId: string,
  outOfService: string | null,
): Promise<boolean> {
  const change = await nextChange(transaction, { holder, target });
  if (change === undefined) return false;
  const marked = updateWhere(transaction, "hosts", { holder, target, host_id: hostId });
  return (await marked.set({ out_of_service: outOfService, change }).executeTakeFirst()).numUpdatedRows > 0n;
}

/**
 * Removes a host from a view until it reports again. Its reports stay in the log.
 *
 * @returns false, without any change, when the view has no such host
 */
export async function forgetHost(
  transaction: Transacted,
  { holder, target }: FleetKey,
  hostId: string,
): Promise<boolean> {
  // Locks the view's row first, as reports do: this keeps changes in order.
  await updateWhere(transaction, "views", { holder, target })
    .set((eb) => ({ changes: eb("changes", "+", 1), forgotten: eb("changes", "+", 1) }))
    .execute();
  const gone = await deleteWhere(transaction, "hosts", { holder, target, host_id: hostId })
    .returning(["record", "labels"])
    .executeTakeFirst();
  if (gone === undefined) return false;
  const from = labelsOf(recordOf(gone), gone.labels);
  await changeLabels(transaction, { holder, target }, [{ hostId, from, to: {} }]);
  return true;
}

/** Gives a host of a view another name, which none has. What it runs and its labels stay. */
export async function renameHost(transaction: Transacted, view: FleetKey, from: string, to: string): Promise<void> {
  const { holder, target } = view;
  const facts = { holder, target, host_id: from };
  const row = await selectWhere(transaction, "hosts", facts).selectAll().executeTakeFirst();
  if (row === undefined || !(await forgetHost(transaction, view, from))) return;
  const change = (await nextChange(transaction, view))!;
  const record = { ...recordOf(row), host_id: to };
  const named = { host_id: to, change, record: JSON.stringify(record) };
  await transaction
    .insertInto("hosts")
    .values({ ...row, ...named })
    .execute();
  await changeLabels(transaction, view, [{ hostId: to, from: {}, to: labelsOf(record, row.labels) }]);
}

/** Removes all hosts of a view, in batches. */
export async function clearHosts(db: Queries, { holder, target }: FleetKey): Promise<void> {
  const keys = { hosts: sql`host_id`, host_labels: sql`label, host_id` };
  for (const [table, key] of Object.entries(keys))
    for (let count = PAGE_HOSTS; count === PAGE_HOSTS; await nextTurn()) {
      const ofView = sql`holder = ${holder} and target = ${target}`;
      const some = sql`select ${key} from ${sql.table(table)} where ${ofView} order by ${key} limit ${PAGE_HOSTS}`;
      const removal = sql`delete from ${sql.table(table)} where ${ofView} and (${key}) in (${some}) returning host_id`;
      count = (await removal.execute(db)).rows.length;
    }
}

/** Recomputes the columns and labels of all hosts, page by page, for records that an older hub stored. */
export async function renewHosts(db: Queries): Promise<void> {
  const key = sql`(holder, target, host_id)`;
  let last: Pick<HostsTable, "holder" | "target" | "host_id"> | undefined;
  do {
    const after = last;
    const page = await db
      .selectFrom("hosts")
      .selectAll()
      .$if(after !== undefined, (query) =>
        query.where(sql<boolean>`${key} > (${after?.holder}, ${after?.target}, ${after?.host_id})`),
      )
      .orderBy("holder")
      .orderBy("target")
      .orderBy("host_id")
      .limit(PAGE_HOSTS)
      .execute();
    if (page.length === 0) return;
    // Without columns of later migrations.
    const renewed = page.map((row) => {
      const { unhealthy_since: _, ...columns } = columnsOf(recordOf(row), row.seen_at);
      return { ...row, ...columns };
    });
    await db
      .insertInto("hosts")
      .values(renewed)
      .onConflict((conflict) =>
        conflict.columns(["holder", "target", "host_id"]).doUpdateSet((eb) => ({
          state: eb.ref("excluded.state"),
          shown_version: eb.ref("excluded.shown_version"),
          heard_at: eb.ref("excluded.heard_at"),
        })),
      )
      .execute();
    await addLabels(
      db,
      page.flatMap((row) => rowsOf(row, row.host_id, labelRows(labelsOf(recordOf(row), row.labels)))),
    );
    last = page.length === PAGE_HOSTS ? page.at(-1) : undefined;
  } while (last !== undefined);
}

/**
 * Takes the next change numbers of a view, which is made where there is none, and locks its row.
 *
 * @param bytes of reports that are added to its log
 * @returns the last one
 */
export async function advanceView(
  transaction: Queries,
  { holder, target }: FleetKey,
  count: number,
  bytes = 0,
): Promise<number> {
  const { changes } = await transaction
    .insertInto("views")
    .values({ holder, target, changes: count, forgotten: 0, bytes })
    .onConflict((conflict) =>
      conflict.columns(["holder", "target"]).doUpdateSet((eb) => ({
        changes: eb("views.changes", "+", eb.ref("excluded.changes")),
        bytes: eb("views.bytes", "+", eb.ref("excluded.bytes")),
      })),
    )
    .returning("changes")
    .executeTakeFirstOrThrow();
  return Number(changes);
}

/**
 * Takes the next change numbers of a view, and locks its row, which keeps changes in order.
 *
 * @returns the last one; undefined for an unknown view
 */
export async function nextChange(
  transaction: Transacted,
  { holder, target }: FleetKey,
  count = 1,
): Promise<number | undefined> {
  const view = await updateWhere(transaction, "views", { holder, target })
    .set((eb) => ({ changes: eb("changes", "+", count) }))
    .returning("changes")
    .executeTakeFirst();
  return view && Number(view.changes);
}
