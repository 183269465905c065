import type { FleetKey } from "../../records/fleet.ts";
import { hosts, type HostsTable } from "../../records/fleet-tables.ts";
import type { PreparedStatements, Queries } from "../../records/port.ts";
import { reading, rowsOf } from "../../records/reading.ts";
import { selectWhere } from "../../records/rows.ts";

/** Hosts of a view, as rollouts read them. */

/** Hosts per page. */
const PAGE_HOSTS = 500;

const CHANGED = reading(
  hosts,
  ["host_id", "change", "record", "seen_at", "labels", "first_change", "is_bound", "out_of_service"],
  `WHERE holder = ? AND target = ? AND change > ? ORDER BY change LIMIT ${PAGE_HOSTS}`,
);

export type ChangedHost = NonNullable<(typeof CHANGED)["row"]>;

/** Reads the hosts of a view that changed after a change, page by page in the order of their changes. */
export async function* changedHosts(
  statements: PreparedStatements,
  { holder, target }: FleetKey,
  since: number,
): AsyncGenerator<ChangedHost[]> {
  for (let after = since; ;) {
    const page = await rowsOf(statements, CHANGED, [holder, target, after]);
    if (page.length > 0) yield page;
    if (page.length < PAGE_HOSTS) return;
    after = Number(page.at(-1)!.change);
  }
}

/** Yields the labels of the hosts of a view that name themselves, without those out of service, page by page. */
export async function* namedHosts(
  db: Queries,
  { holder, target }: FleetKey,
): AsyncGenerator<Pick<HostsTable, "record" | "labels" | "is_bound">[]> {
  for (let after = ""; ;) {
    const page = await selectWhere(db, "hosts", { holder, target })
      .select(["host_id", "record", "labels", "is_bound"])
      .where("seen_at", "is not", null)
      .where("out_of_service", "is", null)
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
export async function changesOf(db: Queries, { holder, target }: FleetKey): Promise<number> {
  const row = await selectWhere(db, "views", { holder, target }).select("changes").executeTakeFirst();
  return Number(row?.changes ?? 0);
}
