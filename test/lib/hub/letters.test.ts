import { join } from "node:path";
import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { setQuota } from "../../../lib/hub/features/quotas/by-hand.ts";
import { startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { report } from "../../support/hub/shown-hub.ts";

for (const kind of ["SQLite", "PostgreSQL"]) {
  t.test(`names with letters beyond ASCII are found and taken as they are written, on ${kind}`, async (t) => {
    const databaseUrl = kind === "SQLite" ? undefined : await startPostgres(t);
    if (kind !== "SQLite" && databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
    const dataDir = join(t.testdir(), "hub");
    const hub = await startHub(t, { dataDir, ...(databaseUrl !== undefined && { databaseUrl }) });
    const create = (json: object) => hub.call("POST", "/devkeys/projects", { json });

    const first = await create({ name: "Ärger", kind: "project" });
    t.equal(first.status, 201);
    t.equal((await create({ name: "Ärger", kind: "project" })).body?.code, "name_taken");
    t.equal((await create({ name: "ÄRGER", kind: "project" })).body?.code, "name_taken");
    t.equal((await create({ name: "İstanbul", kind: "project" })).status, 201);
    t.equal((await create({ name: "İstanbul", kind: "project" })).body?.code, "name_taken");
    t.equal((await create({ name: "ẞ", kind: "project" })).status, 201);
    t.equal((await create({ name: "ß", kind: "project" })).status, 201, "another letter, on both databases");

    const place = { hooks: FEATURES, dataDir, ...(databaseUrl !== undefined && { databaseUrl }) };
    const quota = await setQuota(place, { subject: "project/Ärger", max_bytes: 1000, max_versions: null });
    t.equal(quota.subject, `project/${first.body?.id}`);

    t.equal((await create({ name: "Ölstand", kind: "plugin", slug: "oil" })).status, 201);
    for (const [q, total] of [
      ["Ölstand", 1],
      ["Ö", 1],
      ["ÖLSTAND", 1],
      ["Öl_", 0],
    ] as const) {
      const { body } = await hub.call("GET", `/app/marketplace/plugins?count=true&q=${encodeURIComponent(q)}`);
      t.equal(body.total, total, q);
    }

    for (const host of ["Kühlhaus-Ä1", "Kai-7"]) await report(hub, { slug: "oil", host, version: "1.0.0" });
    for (const q of ["Kühlhaus-Ä1", "Ä", "KüHLHAUS"]) {
      const path = `/app/deployments/deployments/plugin/oil/hosts?limit=5&text=${encodeURIComponent(q)}`;
      const { body } = await hub.call("GET", path);
      t.strictSame(Object.keys(body as object), ["Kühlhaus-Ä1"], q);
    }
  });
}
