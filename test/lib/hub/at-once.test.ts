import t from "tap";
import { createdAtOnce } from "../../support/hub/at-once.ts";
import { startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";

for (const database of ["SQLite", "PostgreSQL"]) {
  t.test(`an owner's names hold for requests that come at once, on ${database}`, async (t) => {
    const databaseUrl = database === "SQLite" ? undefined : await startPostgres(t);
    if (database !== "SQLite" && databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
    const hub = await startHub(t, databaseUrl === undefined ? {} : { databaseUrl });
    t.equal(await createdAtOnce(t, hub, ["/devkeys/projects", 20], { name: "Harbour", kind: "project" }), 1);
    const others = await Promise.all(
      [1, 2, 3, 4].map((index) =>
        hub.call("POST", "/devkeys/projects", { json: { name: `Quay ${index}`, kind: "plugin", slug: `q${index}` } }),
      ),
    );
    const renamed = await Promise.all(
      others.map(({ body }) => hub.call("PATCH", `/devkeys/projects/${body.id as string}`, { json: { name: "Quay" } })),
    );
    t.strictSame(renamed.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  });
}
