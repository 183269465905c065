import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";

for (const database of ["SQLite", "PostgreSQL"]) {
  t.test(`an owner's limits and names hold for requests that come at once, on ${database}`, async (t) => {
    const databaseUrl = database === "SQLite" ? undefined : await startPostgres(t);
    if (database !== "SQLite" && databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
    const hub = await startHub(t, { webhookAllow: ["127.0.0.1"], ...(databaseUrl !== undefined && { databaseUrl }) });
    const atOnce = async (count: number, path: string, json: object): Promise<number> => {
      const asked = Array.from({ length: count }, () => hub.call("POST", path, { json }));
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      t.ok(
        statuses.every((status) => status === 201 || status === 409),
        statuses.join(" "),
      );
      return statuses.filter((status) => status === 201).length;
    };
    t.equal(await atOnce(60, "/devkeys/webhooks", { url: "http://127.0.0.1:9/" }), 20);
    t.equal(await atOnce(20, "/devkeys/projects", { name: "Harbour", kind: "project" }), 1);
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
