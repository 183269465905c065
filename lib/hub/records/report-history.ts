import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import type { HostsTable } from "./fleet-tables.ts";
import type { PageRange, Queries } from "./port.ts";
import { given, newestWhere, selectWhere, updateWhere } from "./rows.ts";

/** Rows removed per statement: few enough that nobody waits for it. */
const REMOVAL_BATCH = 1000;

export interface ReportFilters {
  hostId: string | undefined;
  status: "success" | "failed" | "rolled_back" | undefined;
  version: string | undefined;
  /** Earliest time of receipt, inclusive; ISO 8601 in UTC. */
  from: string | undefined;
  /** Latest time of receipt, exclusive; ISO 8601 in UTC. */
  to: string | undefined;
}

/** Lists a view's reports, newest first; pages are by id, which sorts by the time of receipt. */
export function listReports(
  db: Queries,
  { holder, target }: { holder: string; target: string },
  { hostId, status, version, from, to }: ReportFilters,
  range: PageRange,
): Promise<{ id: string; record: string }[]> {
  const facts = given({ host_id: hostId, status, version });
  return newestWhere(db, "reports", { holder, target, ...facts }, range)
    .select(["id", "record"])
    .$if(from !== undefined, (query) => query.where("created_at", ">=", from!))
    .$if(to !== undefined, (query) => query.where("created_at", "<", to!))
    .execute();
}

/** Rules for which reports are kept; the newest one of each host always is. */
export interface ReportRules {
  /** Newest reports kept per host: as many of successful deployments, and as many of others. */
  perHost: number;
  /** Time since which successful deployments are kept, by receipt; ISO 8601 in UTC. */
  since: string;
  /** Time since which other reports are kept, by receipt; ISO 8601 in UTC. */
  failuresSince: string;
}

export interface RemovedReports {
  reports: number;
  bytes: number;
}

interface DueReport {
  id: string;
  created_at: string;
  size: number;
}

/** Removes all reports of a view, in batches. */
export async function clearReports(db: Queries, { holder, target }: { holder: string; target: string }): Promise<void> {
  for (let batch: DueReport[] | undefined; batch === undefined || batch.length === REMOVAL_BATCH; await nextTurn()) {
    batch = await selectWhere(db, "reports", { holder, target })
      .select(["id", "created_at", sizeOf.as("size")])
      .orderBy("id")
      .limit(REMOVAL_BATCH)
      .execute();
    if (batch.length > 0) await removeBatch(db, batch);
  }
}

/** Reports counted per turn of the event loop. */
const COUNTED_REPORTS = 20_000;

const sizeOf = sql<number>`octet_length(record)`;

/** Removes reports that are too old or too many, in batches. @param dryRun only counts them */
export async function removeReports(db: Queries, rules: ReportRules, dryRun = false): Promise<RemovedReports> {
  const total: RemovedReports = { reports: 0, bytes: 0 };
  /** @param due finds the next ones, after the last one that was found */
  const remove = async (due: (found: number, last: DueReport | undefined) => Promise<DueReport[]>): Promise<void> => {
    let found = 0;
    for (let last: DueReport | undefined; ;) {
      const batch = await due(dryRun ? found : 0, last);
      if (!dryRun && batch.length > 0) await removeBatch(db, batch);
      found += batch.length;
      total.reports += batch.length;
      for (const { size } of batch) total.bytes += Number(size);
      if (batch.length < REMOVAL_BATCH) return;
      last = batch.at(-1);
    }
  };
  const groups = [
    { status: "=", since: rules.since },
    { status: "!=", since: rules.failuresSince },
  ] as const;
  const reports = (status: "=" | "!=") =>
    db
      .selectFrom("reports")
      .select(["id", "created_at", sizeOf.as("size")])
      .where("status", status, "success");
  for (const { status, since } of groups)
    await remove((_, last) =>
      reports(status)
        .where("created_at", "<", since)
        .$if(last !== undefined, (query) =>
          query.where(sql<boolean>`(created_at, id) > (${last?.created_at}, ${last?.id})`),
        )
        .where((eb) =>
          eb.not(eb.exists(eb.selectFrom("hosts").select("report_id").whereRef("report_id", "=", "reports.id"))),
        )
        .orderBy("created_at")
        .orderBy("id")
        .limit(REMOVAL_BATCH)
        .execute(),
    );
  for await (const { holder, target, host_id: host, isSuccess } of overfullHosts(db, rules.perHost)) {
    const { status, since } = groups[isSuccess ? 0 : 1];
    await remove((found) =>
      reports(status)
        .where("holder", "=", holder)
        .where("target", "=", target)
        .where("host_id", "=", host)
        .where("created_at", ">=", since)
        .orderBy("id", "desc")
        .limit(REMOVAL_BATCH)
        .offset(rules.perHost + found)
        .execute(),
    );
  }
  return total;
}

type HostName = Pick<HostsTable, "holder" | "target" | "host_id">;
/** Host with more reports of one group than are kept. */
type OverfullHost = HostName & { isSuccess: boolean };

const NAME = ["holder", "target", "host_id"] as const;
const nameColumns = sql`(holder, target, host_id)`;
const valuesOf = ({ holder, target, host_id }: HostName) => sql`(${holder}, ${target}, ${host_id})`;

/** Finds the few hosts that have too many reports. The number of statements grows with reports, not with hosts. */
async function* overfullHosts(db: Queries, perHost: number): AsyncGenerator<OverfullHost> {
  for (let last: HostName | undefined; ;) {
    const after = last;
    const next = db
      .selectFrom("reports")
      .select(NAME)
      .$if(after !== undefined, (query) => query.where(sql<boolean>`${nameColumns} > ${valuesOf(after!)}`));
    const end = await next
      .orderBy("holder")
      .orderBy("target")
      .orderBy("host_id")
      .limit(1)
      .offset(COUNTED_REPORTS)
      .executeTakeFirst();
    // Names of all hosts with many reports come from an index; only the reports of these are read.
    const many = next
      .$if(end !== undefined, (query) => query.where(sql<boolean>`${nameColumns} <= ${valuesOf(end!)}`))
      .groupBy(NAME)
      .having((eb) => eb(eb.fn.countAll(), ">", perHost));
    const found = await db
      .selectFrom("reports")
      .select(NAME)
      .select(sql<number>`case when status = 'success' then 1 else 0 end`.as("success"))
      .where(sql<boolean>`${nameColumns} in ${many}`)
      .groupBy([...NAME, "success"])
      .having((eb) => eb(eb.fn.countAll(), ">", perHost))
      .execute();
    for (const { success, ...host } of found) yield { ...host, isSuccess: Number(success) === 1 };
    if (end === undefined) return;
    last = end;
    // SQLite answers synchronously, and would block the event loop.
    await nextTurn();
  }
}

/** Removes reports, and subtracts their bytes from those of their views. */
async function removeBatch(db: Queries, batch: readonly DueReport[]): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const removed = await transaction
      .deleteFrom("reports")
      .where(
        "id",
        "in",
        batch.map(({ id }) => id),
      )
      .returning(["holder", "target", sizeOf.as("size")])
      .execute();
    const views = Map.groupBy(removed, ({ holder, target }) => JSON.stringify([holder, target]));
    for (const rows of views.values()) {
      const { holder, target } = rows[0]!;
      const bytes = rows.reduce((sum, { size }) => sum + Number(size), 0);
      await updateWhere(transaction, "views", { holder, target })
        .set((eb) => ({ bytes: eb("bytes", "-", bytes) }))
        .execute();
    }
  });
}
