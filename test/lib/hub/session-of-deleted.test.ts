import t from "tap";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";

for (const database of ["SQLite", "PostgreSQL"]) {
  t.test(`a session of a project that is deleted meanwhile is refused, on ${database}`, async (t) => {
    const databaseUrl = database === "SQLite" ? undefined : await startPostgres(t);
    if (database !== "SQLite" && databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
    const hub = await startHub(t, databaseUrl === undefined ? {} : { databaseUrl });
    for (let round = 0; round < 12; round++) {
      const { id, key } = await createProject(hub);
      // The administrator's key stays when the project is gone, the project's own does not.
      const keys = Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? key : hub.adminKey));
      const open = (xdevkey: string) =>
        hub.call("POST", "/app/deploy/v1/auth", { key: null, json: { xdevkey, project_id: id } });
      const first = keys.slice(0, 12).map(open);
      const [deleted, ...opened] = await Promise.all([
        hub.call("DELETE", `/devkeys/projects/${id}`),
        ...first,
        ...keys.slice(12).map(open),
      ]);
      t.equal(deleted.status, 200);
      const unexpected = opened.filter(({ status }) => ![200, 401, 403, 404].includes(status));
      t.strictSame(
        unexpected.map(({ status }) => status),
        [],
      );
    }
  });
}
