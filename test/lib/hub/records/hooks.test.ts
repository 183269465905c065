import { join } from "node:path";
import { Kysely } from "kysely";
import t from "tap";
import { HubError } from "../../../../lib/hub/base/errors.ts";
import { BY_HUB, insertAudit } from "../../../../lib/hub/records/audit.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import type { RecordHooks } from "../../../../lib/hub/records/hooks.ts";
import { inTransaction } from "../../../../lib/hub/records/port.ts";
import type { Schema } from "../../../../lib/hub/records/schema.ts";
import { openSqlite } from "../../../../lib/hub/records/sqlite.ts";

const DEED = { action: "admin-key.renew", ...BY_HUB, subject: "x" } as const;

t.test("hooks hear of a deed in their order, in its transaction, and one that throws undoes it", async (t) => {
  const heard: string[] = [];
  const hook = (name: string): RecordHooks => ({
    name,
    async onAudit(db, { subject }) {
      heard.push(`${name} ${subject} ${db.isTransaction}`);
      if (subject === "refused" && name === "b") throw new HubError(409, "conflict", "no");
    },
  });
  const database = await openDatabase({ dataDir: t.testdir(), hooks: [hook("a"), hook("b"), { name: "deaf" }] });
  t.teardown(() => database.close());
  const write = (subject: string) =>
    inTransaction(database.kysely, (transaction) => insertAudit(transaction, { ...DEED, subject }, Date.now()));
  await write("x");
  await t.rejects(write("refused"), { code: "conflict" });
  t.strictSame(heard, ["a x true", "b x true", "a refused true", "b refused true"]);
  t.match(await database.kysely.selectFrom("audit").select("subject").execute(), [{ subject: "x" }]);
});

t.test("a connection that was opened without the features writes down no deed", async (t) => {
  const dataDir = t.testdir();
  const database = await openDatabase({ dataDir, hooks: [] });
  t.teardown(() => database.close());
  const other = new Kysely<Schema>({ dialect: openSqlite(join(dataDir, "hub.sqlite")).dialect });
  t.teardown(() => other.destroy());
  await t.rejects(
    inTransaction(other, (transaction) => insertAudit(transaction, DEED, Date.now())),
    /opened without the features' hooks/,
  );
  t.strictSame(await database.kysely.selectFrom("audit").selectAll().execute(), []);
});
