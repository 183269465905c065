import pg from "pg";
import t, { type Test } from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import { registerKeks, retireKeksExcept, underKek } from "../../../../lib/hub/records/keks.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";
import { until } from "../../../support/until.ts";

const NOW = "2026-11-24T12:00:00.000Z";

/** A database on PostgreSQL with two KEKs; undefined where PostgreSQL is not installed. */
async function withKeks(t: Test) {
  const url = await startPostgres(t);
  if (url === undefined) {
    t.plan(0, "PostgreSQL is not installed");
    return undefined;
  }
  const database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir(), url });
  t.teardown(() => database.close());
  await registerKeks(database.kysely, ["kek_old", "kek_new"], NOW);
  const watcher = new pg.Client({ connectionString: url });
  await watcher.connect();
  t.teardown(() => watcher.end());
  const statement = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
  /** Resolves when so many statements wait for a lock. */
  const waiting = (count: number): Promise<void> =>
    until(async () => (await watcher.query(statement)).rows.length >= count);
  return { database, db: database.kysely, waiting };
}

/** Work in a transaction that goes on until it is released. */
function heldWork() {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<string>();
  const work = (): Promise<string> => {
    begun.resolve();
    return released.promise;
  };
  return { work, begun: begun.promise, release: () => released.resolve("held") };
}

t.test("a publication does not wait for another one under the same KEK", async (t) => {
  const found = await withKeks(t);
  if (found === undefined) return;
  const { db } = found;
  const held = heldWork();
  const first = underKek(db, "kek_old", held.work);
  await held.begun;
  t.strictSame(await underKek(db, "kek_old", async () => "second"), { result: "second" });
  held.release();
  t.strictSame(await first, { result: "held" });
});

t.test("a KEK is retired after the publications under it, and before those that come later", async (t) => {
  const found = await withKeks(t);
  if (found === undefined) return;
  const { database, db, waiting } = found;
  const held = heldWork();
  const first = underKek(db, "kek_old", held.work);
  await held.begun;
  let isRetired = false;
  const retired = retireKeksExcept(database, "kek_new", NOW).then(() => (isRetired = true));
  await waiting(1);
  const late = underKek(db, "kek_old", async () => "late");
  await waiting(2);
  // Afterwards two connections answer, and which one is heard first says nothing.
  t.notOk(isRetired);
  held.release();
  t.strictSame(await first, { result: "held" });
  await retired;
  t.equal(await late, undefined, "it seals under the new KEK instead");
  t.strictSame(await underKek(db, "kek_new", async () => "new"), { result: "new" });
});
