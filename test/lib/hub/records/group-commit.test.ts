import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { type Generated, Kysely, sql } from "kysely";
import t, { type Test } from "tap";
import { openSqlite } from "../../../../lib/hub/records/sqlite.ts";

interface Schema {
  notes: { id: Generated<number>; text: string };
}

async function open(t: Test) {
  const path = join(t.testdir(), "hub.sqlite");
  const db = new Kysely<Schema>({ dialect: openSqlite(path).dialect });
  t.teardown(() => db.destroy());
  await sql`create table notes (id integer primary key, text text not null unique)`.execute(db);
  const other = new DatabaseSync(path, { readOnly: true });
  t.teardown(() => other.close());
  /** As another process sees it, each commit being one change. */
  const committed = () =>
    other
      .prepare("select text from notes order by id")
      .all()
      .map(({ text }) => text);
  const commits = () => Number(other.prepare("pragma data_version").get()!["data_version"]);
  const add = (text: string) => db.transaction().execute((tx) => tx.insertInto("notes").values({ text }).execute());
  return { db, add, committed, commits, path };
}

t.test("transactions that come together are committed together, in their order", async (t) => {
  const { db, add, committed, commits } = await open(t);
  const before = commits();
  const wanted = Array.from({ length: 50 }, (_, index) => `note ${index}`);
  await Promise.all(
    wanted.map((text, index) => (index % 2 === 0 ? add(text) : db.insertInto("notes").values({ text }).execute())),
  );
  t.strictSame(committed(), wanted);
  t.equal(commits() - before, 1);
  await add("alone");
  t.equal(committed().at(-1), "alone", "on the disk when it is answered");
});

t.test("a transaction that fails takes none of the others with it", async (t) => {
  const { db, add, committed } = await open(t);
  const failing = db.transaction().execute(async (tx) => {
    await tx.insertInto("notes").values({ text: "never" }).execute();
    throw new Error("on purpose");
  });
  const results = await Promise.allSettled([add("first"), failing, add("first"), add("second")]);
  t.strictSame(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "rejected", "fulfilled"],
  );
  t.match(results[2], { reason: /UNIQUE/ });
  t.strictSame(committed(), ["first", "second"]);
});

t.test("the first transaction of all fails alone, too, also after turns of the event loop", async (t) => {
  const { db, add, committed } = await open(t);
  const failing = db.transaction().execute(async (tx) => {
    await tx.insertInto("notes").values({ text: "never" }).execute();
    await turn();
    await tx.insertInto("notes").values({ text: "nor this" }).execute();
    throw new Error("on purpose");
  });
  const results = await Promise.allSettled([failing, add("first"), add("first"), add("second")]);
  t.strictSame(
    results.map(({ status }) => status),
    ["rejected", "fulfilled", "rejected", "fulfilled"],
  );
  t.match(results[0], { reason: /on purpose/ });
  t.strictSame(committed(), ["first", "second"]);
  await t.rejects(
    db.transaction().execute(() => Promise.reject(new Error("at once"))),
    /at once/,
  );
  await add("third");
  t.strictSame(committed(), ["first", "second", "third"]);
});

t.test("reads outside of a transaction see what is committed, those inside their own writes", async (t) => {
  const { db, committed } = await open(t);
  const seen = async () => (await db.selectFrom("notes").select("text").execute()).length;
  await db.transaction().execute(async (tx) => {
    await tx.insertInto("notes").values({ text: "one" }).execute();
    t.equal((await tx.selectFrom("notes").select("text").execute()).length, 1);
    t.equal(await seen(), 0);
    await turn();
    t.strictSame(committed(), []);
  });
  t.equal(await seen(), 1);
});

t.test("a disk that refuses the commit fails all that were in it, and the next one goes on", async (t) => {
  const { db, add, committed } = await open(t);
  await add("before");
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db);
  await sql.raw(`pragma max_page_count = ${rows[0]!.page_count}`).execute(db);
  const large = "x".repeat(100_000);
  const results = await Promise.allSettled([add("beside"), add(large), add("after")]);
  t.equal(results[1].status, "rejected");
  const kept = ["beside", "after"].filter((_, index) => results[index * 2]!.status === "fulfilled");
  t.strictSame(committed(), ["before", ...kept], "what was answered is there, and nothing else");
  await add("later");
  t.equal(committed().at(-1), "later");
});

t.test("another writer of the file is waited for, and may be in the same process", async (t) => {
  const { add, committed, path } = await open(t);
  const other = new DatabaseSync(path);
  t.teardown(() => other.close());
  other.exec("begin immediate");
  const added = add("after it");
  // The event loop goes on: otherwise this could not end, and the wait would be in vain.
  await delay(300);
  t.strictSame(committed(), []);
  other.exec("commit");
  await added;
  t.strictSame(committed(), ["after it"]);
});
