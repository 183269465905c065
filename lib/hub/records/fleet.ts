import { hosts, type HostsTable } from "./fleet-tables.ts";
import { SHOWN_COLUMNS, type ShownHost } from "./host-columns.ts";
import type { PageRange, PreparedStatements, Queries } from "./port.ts";
import { firstRow, type Reading, reading, rowsOf } from "./reading.ts";

/** Hosts per database page, the most that a fleet view holds in memory. */
const PAGE_HOSTS = 100;

const VIEW = "SELECT changes, forgotten FROM views WHERE holder = ? AND target = ?";
const HOSTS = reading(
  hosts,
  SHOWN_COLUMNS,
  `WHERE holder = ? AND target = ? AND host_id > ? ORDER BY host_id LIMIT ${PAGE_HOSTS}`,
);
const CHANGED = reading(
  hosts,
  SHOWN_COLUMNS,
  `WHERE holder = ? AND target = ? AND change > ? ORDER BY change LIMIT ${PAGE_HOSTS + 1}`,
);
const CHANGED_HOSTS = reading(
  hosts,
  SHOWN_COLUMNS,
  `WHERE holder = ? AND target = ? AND host_id > ? AND change > ? ORDER BY host_id LIMIT ${PAGE_HOSTS}`,
);

/** Key of a fleet. The holder is an owner on surface A, and empty on surface B. */
export interface FleetKey {
  holder: string;
  target: string;
}

/** Reads a view's change number, and the last change that forgot a host; 0 for a view without any. */
export async function viewState(
  statements: PreparedStatements,
  { holder, target }: FleetKey,
): Promise<{ changes: number; forgotten: number }> {
  const row = await statements.first(VIEW, [holder, target]);
  return { changes: Number(row?.["changes"] ?? 0), forgotten: Number(row?.["forgotten"] ?? 0) };
}

/** Compares hosts by the UTF-8 bytes of their ids, as the databases sort. */
const inHostOrder = (a: ShownHost, b: ShownHost) => Buffer.compare(Buffer.from(a.host_id), Buffer.from(b.host_id));

/**
 * Reads a view's hosts in host-id order, page by page, with nothing left open while the client reads.
 *
 * @param since only hosts that changed after this change; 0 for all
 */
export async function* hostPages(
  statements: PreparedStatements,
  { holder, target }: FleetKey,
  since: number,
): AsyncGenerator<ShownHost[]> {
  if (since > 0) {
    // The cost depends on what changed: few changes are one page of the change index, many are a walk through all
    // hosts.
    const changed = await rowsOf(statements, CHANGED, [holder, target, since]);
    if (changed.length <= PAGE_HOSTS) {
      yield changed.sort(inHostOrder);
      return;
    }
  }
  for (let after = ""; ;) {
    const page =
      since > 0
        ? await rowsOf(statements, CHANGED_HOSTS, [holder, target, after, since])
        : await rowsOf(statements, HOSTS, [holder, target, after]);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < PAGE_HOSTS) return;
    after = last.host_id;
  }
}

/** Host with the steps of its newest report, and that report from the log, as JSON text. */
export type DetailedHost = ShownHost & Pick<HostsTable, "steps"> & { logged: string | null };

const HOST: Reading<DetailedHost> = {
  text: `SELECT ${[...SHOWN_COLUMNS, "steps"].map((column) => `h.${column}`).join(", ")}, r.record AS logged
    FROM hosts h LEFT JOIN reports r ON r.id = h.report_id WHERE h.holder = ? AND h.target = ? AND h.host_id = ?`,
};

/** Reads one host of a view: two indexed reads. */
export const findHost = (
  statements: PreparedStatements,
  { holder, target }: FleetKey,
  hostId: string,
): Promise<DetailedHost | undefined> => firstRow(statements, HOST, [holder, target, hostId]);

/** View, with the number of its hosts. */
export interface CountedView {
  target: string;
  name: string | null;
  hosts: number;
}

/**
 * Lists the views of an owner's reports, and those of the projects that a key controls, by target.
 *
 * @param id only project; null for several @param owner of the projects; undefined for all
 */
export async function listViews(
  db: Queries,
  holder: string,
  { id, owner }: { id: string | null; owner: string | undefined },
  { after, limit }: PageRange,
): Promise<CountedView[]> {
  const rows = await db
    .selectFrom("views as v")
    .leftJoin("projects as p", (join) => join.onRef("p.id", "=", "v.target").on("v.holder", "=", ""))
    .select((eb) => [
      "v.target",
      "p.name",
      eb
        .selectFrom("hosts as h")
        .select((count) => count.fn.countAll<number>().as("count"))
        .whereRef("h.holder", "=", "v.holder")
        .whereRef("h.target", "=", "v.target")
        .as("hosts"),
    ])
    .where((eb) =>
      eb.or([
        eb("v.holder", "=", holder),
        eb.and([
          eb("p.kind", "=", "project"),
          ...(id === null ? [] : [eb("p.id", "=", id)]),
          ...(owner === undefined ? [] : [eb("p.owner", "=", owner)]),
        ]),
      ]),
    )
    .where("v.target", ">", after)
    .orderBy("v.target")
    .limit(limit)
    .execute();
  return rows.map(({ target, name, hosts }) => ({ target, name, hosts: Number(hosts) }));
}
