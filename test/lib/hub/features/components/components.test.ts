import { join } from "node:path";
import { sql } from "kysely";
import t, { type Test } from "tap";
import type { FoundComponents } from "../../../../../lib/contract/components/routes.ts";
import { backupHub, restoreHub } from "../../../../../lib/hub/backup/backup.ts";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../../lib/hub/records/database.ts";
import { findComponent, indexed } from "../../../../support/hub/components.ts";
import { isErrorBody, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { publishFiles, report } from "../../../../support/hub/shown-hub.ts";
import { billOf, state, statedProject } from "../../../../support/hub/statements.ts";
import { needs } from "../../../../support/programs/optional.ts";

const npm = (name: string, version: string) => ({ name, version, purl: `pkg:npm/${name}@${version}` });

/** Looks for a component once every SBOM is indexed. */
async function find(hub: RunningHub, q: string, key?: string): Promise<FoundComponents> {
  await indexed(hub);
  return findComponent(hub, q, key);
}

/** A project whose version 1.0.0 runs on a host, and a plugin that runs on another one. */
async function fleet(t: Test, hub: RunningHub) {
  const project = await statedProject(hub);
  await state(
    project,
    "sbom",
    billOf([npm("lodash", "4.17.20"), { ...npm("left", "1.0.0"), components: [npm("deep", "2.0.0")] }]),
  );
  const session = await hub.call("POST", "/app/deploy/v1/auth", {
    key: null,
    json: { xdevkey: project.key, project_id: project.id },
  });
  const deployed = { project_id: project.id, deployment_id: "d", status: "success", version: "1.0.0", plugins: [] };
  await hub.call("POST", "/app/deploy/v1/deployments/report", {
    bearer: session.body.access_token,
    json: { ...deployed, started_at: "", completed_at: "", host_id: "harbour-1" },
  });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const descriptor = "name: tide\nversion: 1.0.0\nentry_point: i.js\nexecution_mode: sandboxed\n";
  await publishFiles(hub, { slug: "tide", version: "1.0.0" }, { "plugin.yaml": descriptor, "i.js": "1" });
  const target = { kind: "plugin", slug: "tide" } as const;
  const plugin = { hub, target, version: "1.0.0", artifact_sha256: "", content_sha256: null };
  t.equal((await state(plugin, "sbom", billOf([npm("lodash", "4.17.21")]))).status, 201);
  await report(hub, { slug: "tide", host: "pier-1", version: "1.0.0" });
  return { project };
}

async function found(t: Test, hub: RunningHub): Promise<void> {
  const { project } = await fleet(t, hub);
  const target = `project:${project.id}`;
  t.match(await find(hub, "lodash@<4.17.21"), {
    versions: [
      {
        ...{ target, name: "Demo", version: "1.0.0", host_count: 1, hosts: ["harbour-1"] },
        components: [npm("lodash", "4.17.20")],
      },
    ],
    truncated: false,
    uncompared: [],
  });
  const both = await find(hub, "pkg:npm/lodash@^4");
  t.strictSame(both.versions.map((each) => each.hosts).toSorted(), [["harbour-1"], ["pier-1"]]);
  t.equal((await find(hub, "deep")).versions.length, 1, "a component of a component");
  t.equal((await find(hub, "lodash@^5")).versions.length, 0);

  const stranger = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "s", owner: "other", scopes: ["read"] },
  });
  t.strictSame((await find(hub, "lodash", stranger.body.key as string)).versions, [], "others' fleets are others'");
  t.equal((await find(hub, "lodash", project.key)).versions.length, 2, "a bound key sees its owner's reports");

  const base = `/devkeys/projects/${project.id}/versions/1.0.0`;
  await hub.call("DELETE", `${base}?reason=x`);
  t.equal((await find(hub, "lodash@4.17.20")).versions.length, 0, "what is deleted is no longer found");
}

t.test("the hosts that run a component are found by name, package and range", async (t) => {
  await found(t, await startHub(t, { rateLimits: false }));
});

t.test("the same on PostgreSQL", { skip: needs("initdb") }, async (t) => {
  const url = await startPostgres(t);
  const hub = await startHub(t, { rateLimits: false, databaseUrl: url! });
  await found(t, hub);
  await hub.hub.upkeep.run();
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir, url: url! });
  t.teardown(() => database.close());
  const analysed = await sql<{ name: string }>`
    select relname as name from pg_class
    where relname like 'component%' and relkind = 'r' and reltuples >= 0 order by relname`.execute(database.kysely);
  t.strictSame(
    analysed.rows.map(({ name }) => name),
    ["component_lists", "component_uses", "components"],
    "PostgreSQL has counted the components",
  );
});

t.test("versions without a semantic order are named where a range asks for one", async (t) => {
  const hub = await startHub(t);
  const project = await statedProject(hub);
  const purl = "pkg:maven/org.apache/log4j@2.14.1";
  await state(project, "sbom", billOf([{ group: "org.apache", name: "log4j", version: "2.14.1", purl }]));
  t.strictSame(await find(hub, "org.apache/log4j@<2.17"), {
    ...{ versions: [], truncated: false, uncompared: [{ version: "2.14.1", purl }], unindexed: [] },
  });
  t.equal((await find(hub, "pkg:maven/org.apache/log4j@2.14.*")).versions.length, 1);
  isErrorBody(t, await hub.call("GET", "/app/deployments/deployments/components?q="), 422, "unprocessable");
});

t.test("a restored hub indexes its SBOMs anew", async (t) => {
  const root = t.testdir();
  const hub = await startHub(t, { dataDir: join(root, "hub") });
  const project = await statedProject(hub);
  await state(project, "sbom", billOf([npm("lodash", "4.17.20")]));
  await backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, join(root, "backup"));
  const dataDir = join(root, "restored");
  await restoreHub(join(root, "backup"), { hooks: FEATURES, dataDir }, { trust: "unsigned" });
  const { copyFile } = await import("node:fs/promises");
  for (const file of ["kek.json", "admin.key"]) await copyFile(join(hub.dataDir, file), join(dataDir, file));
  const again = await startHub(t, { dataDir });
  await again.hub.upkeep.run();
  t.equal((await find(again, "lodash")).versions.length, 1);
});
