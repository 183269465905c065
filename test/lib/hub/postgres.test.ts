import { join } from "node:path";
import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { rotateKek } from "../../../lib/hub/keys/rotate-kek.ts";
import { openDatabase } from "../../../lib/hub/records/database.ts";
import { removeReports } from "../../../lib/hub/records/report-history.ts";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import { createProject, isErrorBody, publication, startHub } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";

const DEPLOY = "/app/deploy/v1";

t.test("the hub does on PostgreSQL what it does on SQLite", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) {
    t.plan(0, "PostgreSQL is not installed");
    return;
  }
  const folder = t.testdir();
  const dataDir = join(folder, "hub");
  const hub = await startHub(t, { dataDir, databaseUrl });
  const project = await createProject(hub);
  const bearer = await project.session();

  const what = publication("1.0.0");
  t.equal((await project.publish(what)).status, 201);
  t.equal((await project.publish(what)).status, 200);
  isErrorBody(t, await project.publish(publication("1.0.0")), 409, "version_exists");

  const racing = await Promise.all(Array.from({ length: 5 }, () => project.publish(publication("3.0.0"))));
  t.strictSame(racing.map(({ status }) => status).sort(), [201, 409, 409, 409, 409]);
  const different = ["2.0.0", "4.0.0", "3.5.0", "5.0.0-rc.1"].map((version) => project.publish(publication(version)));
  for (const answer of await Promise.all(different)) t.equal(answer.status, 201);
  const latest = await hub.call("GET", `${DEPLOY}/projects/${project.id}/versions/latest`, { bearer });
  t.strictSame(latest.body, { version: "4.0.0" }, "also when several versions are published at once");

  const location = await hub.call("GET", `${DEPLOY}/projects/${project.id}/artifacts/1.0.0`, { bearer });
  t.equal(location.body.size_bytes, 1000, "a number, not the text of a bigint");
  t.ok((await hub.call("GET", location.body.download_url as string, { key: null })).bytes.equals(what.bytes));

  await rotateKek({ hooks: FEATURES, dataDir, databaseUrl });
  const authorized = await hub.call("POST", `${DEPLOY}/deployments/authorize`, {
    bearer,
    json: { deployment_credential: project.credential, artifact_signature: what.signature.toString("base64") },
  });
  t.equal(authorized.body.dek, what.dek.toString("base64"));

  const report = (host_id: string, deployment_id = "") =>
    hub.call("POST", `${DEPLOY}/deployments/report`, {
      bearer,
      json: {
        project_id: project.id,
        deployment_id,
        status: "success",
        version: "1.0.0",
        started_at: "",
        completed_at: "",
        plugins: [],
        host_id,
      },
    });
  const order = ["B", "a", "a-b", "a_c", "b", "é"];
  await Promise.all(order.map((host) => report(host)));
  await Promise.all([report("z", "same"), report("z", "same"), report("z", "same")]);
  const fleet = await hub.call("GET", `${DEPLOY}/projects/${project.id}/hosts`, { bearer });
  t.strictSame(Object.keys(fleet.body as object), [...order.slice(0, 5), "z", "é"]);
  t.equal(fleet.headers.get("x-cursor"), "7", "the same deployment counts once");
  const since = await hub.call("GET", `${DEPLOY}/projects/${project.id}/hosts?since=6`, { bearer });
  t.equal(Object.keys(since.body as object).length, 1);

  const second = await startHub(t, {
    dataDir: join(folder, "second"),
    databaseUrl,
    keks: { file: join(dataDir, "kek.json") },
    blobUrl: join(dataDir, "blobs"),
  }).catch((error: Error) => error);
  t.match(second, { code: "ENOENT" }, "only the first hub of a database has an admin.key");
  const PLUGINS = "/app/marketplace/plugins";
  const issue = async (json: object) =>
    (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json } })).body.key as string;
  const [alice, bob] = [
    await issue({ owner: "alice", scopes: ["projects", "publish", "read"] }),
    await issue({ owner: "bob" }),
  ];
  for (const slug of ["tide", "tide-alarm", "Alpha".toLowerCase()]) {
    const json = { name: `The ${slug}`, kind: "plugin", slug };
    t.equal((await hub.call("POST", "/devkeys/projects", { key: alice, json })).status, 201);
  }
  const archive = zipOf({ "plugin.yaml": "name: tide\n" });
  for (const version of ["1.0.0", "1.2.0-rc.1"]) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ version, signature: hmacOf(archive, "s"), visibility: "private" })) {
      form.set(name, value);
    }
    form.set("archive", new Blob([new Uint8Array(archive)]), "archive.zip");
    t.equal((await hub.call("POST", `${PLUGINS}/tide/versions`, { key: alice, form })).status, 201);
  }
  t.equal((await hub.call("GET", `${PLUGINS}/tide`, { key: alice })).body.latest_version, "1.0.0");
  t.equal(
    (await hub.call("GET", `${PLUGINS}/tide/install`, { key: hub.adminKey })).headers.get("x-plugin"),
    "tide@1.0.0",
  );
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/tide`, { key: bob }), 404, "not_found");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/tide`, { key: null }), 404, "not_found");
  t.equal((await hub.call("POST", `${PLUGINS}/tide/grants`, { key: alice, json: { owner: "bob" } })).status, 201);
  t.equal((await hub.call("GET", `${PLUGINS}/tide`, { key: bob })).status, 200);
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/a%00b`), 422, "unprocessable");
  const found = await hub.call("GET", `${PLUGINS}?q=TIDE`);
  t.strictSame(
    (found.body.items as { slug: string }[]).map(({ slug }) => slug),
    ["tide", "tide-alarm"],
  );
  t.equal((await hub.call("POST", `${PLUGINS}/tide/versions/1.0.0/yank`, { key: alice, json: {} })).status, 200);
  t.equal((await hub.call("GET", `${PLUGINS}/tide`, { key: alice })).body.latest_version, "1.2.0-rc.1");
  t.equal(
    (await hub.call("GET", `${PLUGINS}/tide/versions?limit=1`, { key: alice })).body.items[0].version,
    "1.2.0-rc.1",
  );
  const deployed = {
    kind: "plugin",
    slug: "tide",
    version: "1.0.0",
    status: "success",
    started_at: "2026-01-01T00:00:00Z",
    completed_at: "2026-01-01T00:00:00Z",
  };
  t.equal((await hub.call("POST", "/app/deployments/deployments/report", { json: deployed, key: bob })).status, 201);
  t.equal((await hub.call("POST", "/app/deployments/deployments/report", { json: deployed, key: bob })).status, 201);
  const history = await hub.call("GET", "/app/deployments/deployments/plugin/tide/reports?status=success", {
    key: bob,
  });
  t.equal(history.body.items.length, 2);
  const database = await openDatabase({ hooks: FEATURES, dataDir, url: databaseUrl });
  const late = "2099-01-01T00:00:00.000Z";
  const rules = { perHost: 10, since: late, failuresSince: late };
  t.match(await removeReports(database.kysely, rules), { reports: 1 }, "all but the newest of its host");
  await hub.hub.upkeep.run();
  await database.close();

  t.equal((await hub.call("DELETE", `/devkeys/api-keys/${project.keyId}`)).status, 204);
  isErrorBody(t, await hub.call("GET", `${DEPLOY}/projects/${project.id}/hosts`, { bearer }), 401, "key_rejected");
});
