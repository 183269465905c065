import t from "tap";
import { createdAtOnce } from "../../../../support/hub/at-once.ts";
import { startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { allowing } from "../../../../support/hub/webhooks.ts";

for (const database of ["SQLite", "PostgreSQL"]) {
  t.test(`an owner's limit of webhooks holds for requests that come at once, on ${database}`, async (t) => {
    const databaseUrl = database === "SQLite" ? undefined : await startPostgres(t);
    if (database !== "SQLite" && databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
    const hub = await startHub(t, { ...allowing(), ...(databaseUrl !== undefined && { databaseUrl }) });
    t.equal(await createdAtOnce(t, hub, ["/devkeys/webhooks", 60], { url: "http://127.0.0.1:9/" }), 20);
  });
}
