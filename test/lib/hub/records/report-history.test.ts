import t, { type Test } from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import type { Database } from "../../../../lib/hub/records/port.ts";
import { removeReports } from "../../../../lib/hub/records/report-history.ts";
import { storeReports } from "../../../../lib/hub/records/reports.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";

const AT = "2026-11-24T12:00:00.000Z";
const EVER = "2000-01-01T00:00:00.000Z";
const RULES = { perHost: 2, since: EVER, failuresSince: EVER };
/** Reports that one transaction stores. */
const BATCH = 1000;

type Status = "success" | "failed";

/** Stores a report of each status, oldest first. */
async function store(database: Database, reports: readonly (readonly [host: string, status: Status])[]) {
  for (let first = 0; first < reports.length; first += BATCH)
    await storeReports(
      database.kysely,
      reports.slice(first, first + BATCH).map(([hostId, status], index) => ({
        ...{
          id: `dpl_${String(first + index).padStart(8, "0")}`,
          holder: "bob",
          target: "plugin/tide",
          hostId,
          status,
        },
        ...{
          version: "1.0.0",
          deployment: null,
          record: "{}",
          isNamed: false,
          isBound: false,
          hostRecord: {} as never,
          createdAt: AT,
        },
      })),
    );
}

const countOf = async (database: Database, host: string): Promise<number> => {
  const { count } = await database.kysely
    .selectFrom("reports")
    .select((eb) => eb.fn.countAll().as("count"))
    .where("host_id", "=", host)
    .executeTakeFirstOrThrow();
  return Number(count);
};

/** Twenty thousand hosts of one report, and among them four with more than are kept. */
async function trims(t: Test, database: Database, heard: string[]) {
  const hosts = Array.from({ length: 20_001 }, (_, index) => `host-${String(index).padStart(5, "0")}`);
  await store(database, [
    ...hosts.map((host) => [host, "success"] as const),
    ...["host-00000", "host-19999", "host-20000"].flatMap((host) =>
      Array.from({ length: 3 }, () => [host, "success"] as const),
    ),
    ...Array.from({ length: 3 }, () => ["host-07000", "failed"] as const),
    // Not too many of either kind.
    ...(["failed", "failed", "success"] as const).map((status) => ["host-08000", status] as const),
  ]);
  t.match(await removeReports(database.kysely, RULES, true), { reports: 7, bytes: 14 });
  heard.length = 0;
  t.match(await removeReports(database.kysely, RULES), { reports: 7, bytes: 14 });
  t.ok(heard.length < 60, `${heard.length} statements`);
  for (const [host, count] of Object.entries({ "host-00000": 2, "host-19999": 2, "host-20000": 2, "host-07000": 3 }))
    t.equal(await countOf(database, host), count, host);
  t.equal(await countOf(database, "host-08000"), 4);
  heard.length = 0;
  t.match(await removeReports(database.kysely, RULES), { reports: 0 });
  t.ok(heard.length < 10, `${heard.length} statements when there is nothing to remove`);
}

t.test("old reports are removed with few statements, however many hosts there are", async (t) => {
  const heard: string[] = [];
  const database = await openDatabase({
    hooks: FEATURES,
    dataDir: t.testdir(),
    onStatement: (text) => void heard.push(text),
  });
  t.teardown(() => database.close());
  await trims(t, database, heard);
});

t.test("so they are on PostgreSQL", async (t) => {
  const url = await startPostgres(t);
  if (url === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const heard: string[] = [];
  const database = await openDatabase({
    hooks: FEATURES,
    dataDir: t.testdir(),
    url,
    onStatement: (text) => void heard.push(text),
  });
  t.teardown(() => database.close());
  await trims(t, database, heard);
});
