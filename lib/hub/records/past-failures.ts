import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import { reportsOtherVersion } from "../../contract/surfaces/host-record.ts";
import type { FleetKey } from "./fleet.ts";
import type { HostsTable } from "./fleet-tables.ts";
import { columnsOf, type StoredRecord } from "./host-columns.ts";
import { nextChange } from "./host-rows.ts";
import { inTransaction, type Queries, type Transacted } from "./port.ts";
import { selectWhere, updateWhere } from "./rows.ts";

/**
 * Failures that are past: the version that a host's last report is about was yanked or deleted since, and the host runs
 * another one. The record of such a host is marked `superseded`, and its state is `ok`.
 */

/** Hosts per page. */
const PAGE_HOSTS = 500;

/** Hosts to look at: those in trouble, or those that are marked. */
export type Suspects = "failing" | "marked";

type Row = Pick<HostsTable, "host_id" | "record" | "seen_at">;

/** Marks the hosts of a view whose failures are past, or takes the mark from those whose version is back. */
export async function settlePastFailures(db: Queries, view: FleetKey, suspects: Suspects): Promise<void> {
  for (let after: string | undefined = ""; after !== undefined; await nextTurn()) {
    const from: string = after;
    after = await inTransaction(db, async (transaction) => {
      const page = await suspectsAfter(transaction, view, suspects, from);
      await settle(transaction, view, page);
      return page.length === PAGE_HOSTS ? page.at(-1)!.host_id : undefined;
    });
  }
}

/** As {@link settlePastFailures}, for hosts that have just reported. The caller holds the lock of the view's row. */
export async function settleReported(
  transaction: Transacted,
  view: FleetKey,
  hostIds: readonly string[],
): Promise<void> {
  const rows = await selectWhere(transaction, "hosts", view)
    .select(["host_id", "record", "seen_at"])
    .where("host_id", "in", hostIds)
    .execute();
  await settle(transaction, view, rows);
}

const suspectsAfter = (db: Queries, view: FleetKey, suspects: Suspects, after: string): Promise<Row[]> =>
  selectWhere(db, "hosts", view)
    .select(["host_id", "record", "seen_at"])
    .where("host_id", ">", after)
    .$if(suspects === "failing", (query) => query.where("state", "in", ["failed", "held"]))
    .$if(suspects === "marked", (query) => query.where(sql<boolean>`record like '%"superseded":true%'`))
    .orderBy("host_id")
    .limit(PAGE_HOSTS)
    .execute();

/** Sets or removes the mark of hosts, where it changes. */
async function settle(transaction: Transacted, view: FleetKey, rows: readonly Row[]): Promise<void> {
  const records = rows
    .map((row) => ({ ...row, record: JSON.parse(row.record) as StoredRecord }))
    .filter(({ record }) => reportsOtherVersion(record));
  if (records.length === 0) return;
  const gone = await goneVersions(transaction, view.target, [...new Set(records.map(({ record }) => record.version))]);
  const changed = records.filter(({ record }) => gone.has(record.version) !== (record.superseded === true));
  if (changed.length === 0) return;
  const last = await nextChange(transaction, view, changed.length);
  if (last === undefined) return;
  for (const [index, { host_id, seen_at, record: before }] of changed.entries()) {
    const { superseded: _, ...rest } = before;
    const record: StoredRecord = gone.has(before.version) ? { ...rest, superseded: true } : rest;
    await updateWhere(transaction, "hosts", { ...view, host_id })
      .set({
        record: JSON.stringify(record),
        change: last - changed.length + index + 1,
        ...columnsOf(record, seen_at),
      })
      .execute();
  }
}

/** Returns those of some versions of a target that were yanked or deleted. @param target as in fleet views */
async function goneVersions(db: Queries, target: string, versions: readonly string[]): Promise<Set<string>> {
  const [kind, slug] = target.split("/");
  const project = await (
    slug === undefined
      ? selectWhere(db, "projects", { id: target })
      : selectWhere(db, "projects", { kind: kind as "plugin" | "service", slug })
  )
    .select("id")
    .executeTakeFirst();
  if (project === undefined) return new Set();
  const yanked = selectWhere(db, "versions", { project_id: project.id, is_yanked: 1 })
    .select("version")
    .where("version", "in", versions);
  const deleted = selectWhere(db, "deleted_versions", { project_id: project.id })
    .select("version")
    .where("version", "in", versions);
  return new Set([...(await yanked.execute()), ...(await deleted.execute())].map(({ version }) => version));
}

/** Lists the views of a target: one for each owner of hosts. */
export const viewsOf = (db: Queries, target: string): Promise<FleetKey[]> =>
  selectWhere(db, "views", { target }).select(["holder", "target"]).execute();
