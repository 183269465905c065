import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t, { type Test } from "tap";
import type { ProjectDeletion } from "../../../lib/contract/surfaces/keys.ts";
import { FEATURES } from "../../../lib/hub/features.ts";
import { openDatabase } from "../../../lib/hub/records/database.ts";
import type { Database } from "../../../lib/hub/records/port.ts";
import { clearFleets } from "../../../lib/hub/records/project-deletion.ts";
import { createProject, isErrorBody, publication, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { FLEET_SCOPES, fleetOf, until } from "../../support/hub/project-fleet.ts";
import { QUICK } from "../../support/hub/rollouts.ts";
import { publishFiles, report } from "../../support/hub/shown-hub.ts";
import { allowing } from "../../support/hub/webhooks.ts";

/** Counts the rows of each table that name one of these texts anywhere. */
async function rowsNaming({ kysely, tables }: Database, texts: readonly string[]): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { name: table, copied } of tables) {
    if ((!copied && table !== "sessions") || table === "audit" || table === "deleted_projects") continue;
    const rows = await kysely
      .selectFrom(table as "versions")
      .selectAll()
      .execute();
    const count = rows.filter((row) => texts.some((text) => JSON.stringify(row).includes(text))).length;
    if (count > 0) found[table] = count;
  }
  return found;
}

async function play(t: Test, databaseUrl: string | undefined): Promise<void> {
  const where = databaseUrl === undefined ? {} : { databaseUrl };
  let now = Date.now();
  const hub = await startHub(t, { ...where, clock: () => now, ...allowing() });
  const database = await openDatabase({
    hooks: FEATURES,
    dataDir: hub.dataDir,
    ...(databaseUrl !== undefined && { url: databaseUrl }),
  });
  t.teardown(() => database.close());
  const project = await createProject(hub, FLEET_SCOPES);
  const other = await createProject(hub, FLEET_SCOPES);
  const [fleet, otherFleet] = [await fleetOf(hub, project), await fleetOf(hub, other)];
  for (const version of ["1.0.0", "1.1.0", "2.0.0"]) t.equal((await project.publish(publication(version))).status, 201);
  t.equal((await other.publish(publication("1.0.0"))).status, 201);
  const at = `/devkeys/projects/${project.id}`;
  t.equal((await hub.call("DELETE", `${at}/versions/1.1.0?reason=test`)).status, 204);
  const webhook = { url: "http://127.0.0.1:9/hook", target: `project:${project.id}` };
  t.equal((await hub.call("POST", "/devkeys/webhooks", { json: webhook })).status, 201);
  for (const host of ["a", "b"]) await fleet.report(host, "1.0.0", { labels: { env: "prod" } });
  await otherFleet.report("c", "1.0.0", { labels: { env: "prod" } });
  t.equal((await fleet.start({ version: "2.0.0", ...QUICK })).status, 201);

  const before = await hub.call("GET", `${at}/deletion`);
  const contents = {
    versions: 2,
    hosts: 2,
    reporting_hosts: 2,
    rollouts: 1,
    keys: 1,
    signers: 0,
    grants: 0,
    webhooks: 1,
  };
  t.match(before.body, { id: project.id, kind: "project", contents });
  for (const key of [project.key, other.key]) {
    isErrorBody(t, await hub.call("GET", `${at}/deletion`, { key }), 403, "forbidden");
    isErrorBody(t, await hub.call("DELETE", at, { key }), 403, "forbidden");
  }
  isErrorBody(t, await hub.call("DELETE", at), 409, "project_in_use");
  t.match((await hub.call("DELETE", `${at}?force=false`)).body, { error: /^2 hosts have reported to the project / });
  t.equal((await hub.call("GET", at)).status, 200, "a refusal has changed nothing");

  const blobs = await database.kysely.selectFrom("blobs").select(["id", "project_id"]).execute();
  const deleted = await hub.call("DELETE", `${at}?force=true&reason=moved`);
  t.equal(deleted.status, 200);
  t.match(deleted.body as ProjectDeletion, { id: project.id, contents });
  isErrorBody(t, await hub.call("GET", at), 404, "not_found");
  isErrorBody(t, await hub.call("DELETE", at), 404, "not_found");
  t.equal((await fleet.latest("a")).status, 401, "its sessions have ended");
  t.equal((await fleet.report("a", "1.0.0")).status, 401);
  isErrorBody(t, await hub.call("GET", "/devkeys/projects", { key: project.key }), 401, "key_rejected");
  const left = await until(
    () => rowsNaming(database, [project.id, project.keyId]),
    (found) => Object.keys(found).length === 0,
  );
  t.strictSame(left, {}, "no row names the project or its key");
  const files = await readdir(hub.dataDir, { recursive: true });
  for (const { id, project_id: of } of blobs) {
    const inTrash = files.some((file) => file.includes(id) && file.includes("trash"));
    t.equal(inTrash, of === project.id, "only the bytes of its versions are in the trash");
  }
  const audit = await hub.call("GET", "/devkeys/audit?action=project.delete");
  const facts = { kind: "project", versions: 2, hosts: 2, keys: 1, forced: true, reason: "moved" };
  t.match(audit.body.items, [{ subject: project.id, facts }]);
  t.match((await hub.call("GET", `/app/deploy/v1/projects/${other.id}/fleet`, { key: other.key })).body, {
    ...{ hosts: 1, labels: ["env=prod"] },
  });

  now += 31 * 86_400_000;
  t.match((await hub.call("DELETE", `/devkeys/projects/${other.id}`)).body, {
    contents: { hosts: 1, reporting_hosts: 0 },
  });
}

t.test("a deleted project is gone with all that belongs to it, and nothing else is", (t) => play(t, undefined));

t.test("so it is on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) t.plan(0, "PostgreSQL is not installed");
  else await play(t, databaseUrl);
});

t.test("a deleted plugin leaves other owners their reports, and its slug is never used again", async (t) => {
  const hub = await startHub(t);
  const { body } = await hub.call("POST", "/devkeys/projects", {
    json: { name: "Tide", kind: "plugin", slug: "tide" },
  });
  await publishFiles(hub, { slug: "tide", version: "1.0.0" }, { "plugin.yaml": "name: tide\n" });
  const { key } = (
    await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", owner: "else", scopes: ["report", "read"] } })
  ).body as { key: string };
  const of = { slug: "tide", version: "1.0.0" };
  await report(hub, { ...of, host: "own" });
  await report(hub, { ...of, host: "theirs", key });
  const at = `/devkeys/projects/${(body as { id: string }).id}`;
  t.match((await hub.call("GET", `${at}/deletion`)).body, { contents: { hosts: 1, reporting_hosts: 2 } });
  t.equal((await hub.call("DELETE", `${at}?force=true`)).status, 200);
  isErrorBody(t, await hub.call("GET", "/app/marketplace/plugins/tide"), 404, "not_found");
  const hosts = (owner: string) => hub.call("GET", "/app/deployments/deployments/plugin/tide/hosts", { key: owner });
  t.equal(
    (
      await until(
        () => hosts(hub.adminKey),
        ({ status }) => status === 404,
      )
    ).status,
    404,
  );
  t.strictSame(Object.keys((await hosts(key)).body as object), ["theirs"]);
  const again = await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  isErrorBody(t, again, 409, "conflict");
  t.match(again.body, { error: /^The plugin tide was deleted at 2/ });
  t.equal(
    (await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "service", slug: "tide" } })).status,
    201,
    "a service of the same slug is another thing",
  );
});

t.test("the fleet of a deleted project that a hub left behind is removed by the next one", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub, FLEET_SCOPES);
  const fleet = await fleetOf(hub, project);
  for (let host = 0; host < 5; host++) await fleet.report(`h${host}`, "1.0.0", { labels: { env: "prod" } });
  await hub.call("DELETE", `/devkeys/projects/${project.id}?force=true`);
  await hub.hub.close();
  using sqlite = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { timeout: 10_000 });
  sqlite.exec("update deleted_projects set cleared_at = null");
  const view = { holder: "", target: project.id };
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  t.teardown(() => database.close());
  const db = database.kysely;
  await db
    .insertInto("views")
    .values({ ...view, changes: 1, forgotten: 0, bytes: 2 })
    .onConflict((c) => c.doNothing())
    .execute();
  await db
    .insertInto("host_labels")
    .values(Array.from({ length: 1200 }, (_, at) => ({ ...view, label: "env", host_id: `x${at}` })))
    .execute();
  t.equal(await clearFleets(db, () => new Date().toISOString()), 1);
  t.strictSame(await rowsNaming(database, [project.id]), {});
  t.equal(await clearFleets(db, () => new Date().toISOString()), 0);
});
