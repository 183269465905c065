import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { backupHub, restoreHub } from "../../../../lib/hub/backup/backup.ts";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { createHub } from "../../../../lib/hub/hub.ts";
import { call, createProject, type RunningHub, startHub } from "../../../support/hub/harness.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";
import { AUDIENCE, publicationForm, startWorkflow } from "../../../support/hub/publishers.ts";

const plugin = (hub: RunningHub, slug: string) =>
  hub.call("POST", "/devkeys/projects", { json: { name: slug, kind: "plugin", slug } });

t.test(
  "a workflow run gets a key for its target alone, publishes with it, and is named beside the version",
  async (t) => {
    const { hub, trust, run, exchange, issuer } = await startWorkflow(t);
    await plugin(hub, "tide");
    await plugin(hub, "other");
    const added = await trust({ target: "plugin:tide" });
    t.equal(added.status, 201, added.bytes.toString());
    t.match(added.body, {
      name: "release",
      target: "plugin:tide",
      creates: null,
      issuer: issuer.url,
      last_used_at: null,
    });
    const got = await exchange("plugin:tide", await run());
    t.equal(got.status, 201, got.bytes.toString());
    t.match(got.body, { target: "plugin:tide", created: false, publisher: { name: "release" } });
    const lasts = Date.parse(got.body.expires_at as string) - Date.now();
    t.ok(lasts > 14 * 60_000 && lasts <= 15 * 60_000, `the key lasts ${lasts} ms`);
    const publish = (slug: string) =>
      hub.call("POST", `/app/marketplace/plugins/${slug}/versions`, {
        key: got.body.key,
        form: publicationForm("1.0.0"),
      });
    t.equal((await publish("other")).status, 403);
    t.equal((await publish("tide")).status, 201);
    const key = { key: got.body.key };
    t.equal((await hub.call("POST", "/devkeys/api-keys", { ...key, json: { name: "more" } })).status, 403);
    const versions = await hub.call("GET", `/devkeys/projects/${got.body.project_id}/versions`);
    t.equal(versions.body.items[0].published_by, "release: repo:acme/tide:ref:refs/heads/main, run 1001");
    const listed = await hub.call("GET", "/devkeys/publishers");
    t.match(listed.body.items, [{ id: added.body.id, last_used_at: /^20/ }]);
    const audit = await hub.call("GET", "/devkeys/audit?action=publisher.exchange");
    t.match(audit.body.items, [
      { key_id: got.body.key_id, subject: got.body.project_id, facts: { publisher: "release" } },
    ]);
  },
);

t.test("a publisher that is removed ends at once, with the keys that it got", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  const { id } = await createProject(hub);
  const { body } = await trust({ target: `project:${id}` });
  const got = await exchange(`project:${id}`, await run());
  t.equal((await hub.call("GET", "/devkeys/key", { key: got.body.key })).status, 200);
  t.equal((await hub.call("DELETE", `/devkeys/publishers/${body.id}`)).status, 204);
  t.equal((await hub.call("GET", "/devkeys/key", { key: got.body.key })).status, 401);
  t.equal((await exchange(`project:${id}`, await run())).status, 403);
  t.equal((await hub.call("DELETE", `/devkeys/publishers/${body.id}`)).status, 404);
});

t.test("a restored hub takes no token twice, and ends the keys of a publisher that is removed", async (t) => {
  const folder = t.testdir();
  const { hub, trust, run, exchange } = await startWorkflow(t, { dataDir: join(folder, "hub") });
  const { id } = await createProject(hub);
  const { body } = await trust({ target: `project:${id}` });
  const token = await run();
  const got = await exchange(`project:${id}`, token);
  await backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, join(folder, "backup"));
  await hub.hub.close();
  const dataDir = join(folder, "restored");
  await restoreHub(join(folder, "backup"), { hooks: FEATURES, dataDir }, { trust: "unsigned" });
  for (const name of ["admin.key", "kek.json"]) await copyFile(join(hub.dataDir, name), join(dataDir, name));
  const restored = await startHub(t, { dataDir, issuerAllow: ["127.0.0.1"] });
  t.match(await exchange(`project:${id}`, token, restored), { status: 401, body: { code: "key_rejected" } });
  t.equal((await restored.call("GET", "/devkeys/key", { key: got.body.key })).status, 200);
  t.equal((await restored.call("DELETE", `/devkeys/publishers/${body.id}`)).status, 204);
  t.equal((await restored.call("GET", "/devkeys/key", { key: got.body.key })).status, 401);
});

t.test("a pending publisher creates its target with its first run, once", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  t.match((await trust({ creates: { kind: "plugin", slug: "fresh", name: "Fresh" } })).body, {
    target: null,
    creates: { kind: "plugin", slug: "fresh", name: "Fresh" },
  });
  const runs = await Promise.all([1, 2, 3].map(async () => exchange("plugin:fresh", await run())));
  t.same(
    runs.map(({ status }) => status),
    [201, 201, 201],
  );
  t.equal(runs.filter(({ body }) => body.created).length, 1, "one of them has created it");
  t.match((await hub.call("GET", "/devkeys/publishers")).body.items, [{ target: "plugin:fresh", creates: null }]);
  // Projects of one name would be several: their ids are made.
  const { creates } = (await trust({ creates: { kind: "project", name: "Harbour" }, name: "project" })).body;
  const projects = await Promise.all([1, 2, 3].map(async () => exchange("project:Harbour", await run())));
  t.equal(new Set(projects.map(({ body }) => body.project_id as string)).size, 1, "one project");
  const later = await exchange("project:Harbour", await run());
  t.equal(later.body.project_id, creates.slug, "found by its name, with the id that its plan could know");
  t.equal((await exchange(`project:${creates.slug}`, await run())).body.project_id, creates.slug);
});

t.test("a name that its owner has taken by hand meanwhile is the publisher's target", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await trust({ creates: { kind: "service", slug: "pilot", name: "Pilot" } });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Pilot", kind: "service", slug: "pilot" } });
  t.match((await exchange("service:pilot", await run())).body, { created: false, target: "service:pilot" });
});

t.test("a target that goes to another owner takes its publishers along only with its keys", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/api-keys", { json: { name: "next", owner: "next" } });
  for (const [slug, keep_keys] of [
    ["kept", true],
    ["given", false],
  ] as const) {
    await plugin(hub, slug);
    await trust({ target: `plugin:${slug}` });
    const { body } = await exchange(`plugin:${slug}`, await run());
    const transfer = { json: { owner: "next", keep_keys } };
    t.equal((await hub.call("POST", `/devkeys/projects/${body.project_id}/transfer`, transfer)).status, 200);
    t.equal((await exchange(`plugin:${slug}`, await run())).status, keep_keys ? 201 : 403);
    t.equal((await hub.call("GET", "/devkeys/key", { key: body.key })).status, keep_keys ? 200 : 401);
  }
});

t.test("a target that is deleted takes its publishers along", async (t) => {
  const { hub, trust, run, exchange } = await startWorkflow(t);
  const { id } = await createProject(hub);
  await trust({ target: `project:${id}` });
  t.equal((await exchange(`project:${id}`, await run())).status, 201);
  t.equal((await hub.call("DELETE", `/devkeys/projects/${id}?force=true`)).status, 200);
  t.equal((await exchange(`project:${id}`, await run())).status, 403);
  t.same((await hub.call("GET", "/devkeys/publishers")).body.items, []);
});

t.test("a token is compared without being used up, and the answer says which claim differs", async (t) => {
  const { hub, trust, run, exchange, issuer } = await startWorkflow(t);
  await plugin(hub, "tide");
  const { id } = (await trust({ target: "plugin:tide" })).body;
  const test = (token: string) => hub.call("POST", `/devkeys/publishers/${id}/test`, { json: { token } });
  const token = await run();
  t.match((await test(token)).body, { matches: true, differences: [] });
  t.match((await test(await run({ repository_id: 42, aud: "elsewhere" }))).body, {
    matches: false,
    differences: [
      { claim: "aud", wanted: AUDIENCE, found: "elsewhere" },
      { claim: "repository_id", wanted: "41", found: "42" },
    ],
  });
  t.equal((await exchange("plugin:tide", token)).status, 201, "it was not used up");
  t.equal(issuer.asked.filter((path) => path === "/keys").length, 1, "the keys are kept");
});

t.test("nobody trusts more than they may do themselves", async (t) => {
  const { hub, trust, issuer } = await startWorkflow(t);
  const { id } = await createProject(hub);
  await plugin(hub, "tide");
  const keyOf = async (scopes: string[], more = {}) =>
    (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", scopes, ...more } })).body.key as string;
  const request = { name: "r", issuer: issuer.url, audience: AUDIENCE, claims: { repository_id: "1" } };
  const add = async (key: string, json: object) =>
    (await hub.call("POST", "/devkeys/publishers", { key, json: { ...request, ...json } })).status;
  t.equal(await add(await keyOf(["publish"]), { target: `project:${id}` }), 403, "without keys");
  t.equal(await add(await keyOf(["keys"]), { target: `project:${id}` }), 403, "without publish");
  t.equal(await add(await keyOf(["keys", "publish"]), { creates: { kind: "project", name: "x" } }), 403);
  const bound = await keyOf(["keys", "publish", "projects"], { project_id: id });
  t.equal(await add(bound, { target: "plugin:tide" }), 404);
  t.equal(await add(bound, { creates: { kind: "project", name: "x" } }), 403);
  t.equal(await add(bound, { target: `project:${id}` }), 201);
  const other = await keyOf(["keys", "publish"], { owner: "other" });
  t.equal(await add(other, { target: "plugin:tide" }), 404, "another owner's");
  t.same((await hub.call("GET", "/devkeys/publishers", { key: other })).body.items, []);
  t.equal((await trust({})).status, 422, "neither target nor creates");
  const secret = await trust({ target: `project:${id}`, issuer: "https://me:p@ssw0rd@issuer.example" });
  t.match(secret, { status: 422, body: { detail: /user name or password/ } });
  t.notMatch(secret.body.detail, /ssw0rd/, "the password is not repeated");
});

t.test("a publisher of GitHub or GitLab names ids and the workflow", async (t) => {
  const { hub } = await startWorkflow(t);
  await plugin(hub, "tide");
  const refused = await hub.call("POST", "/devkeys/publishers", {
    json: {
      ...{ target: "plugin:tide", name: "r", audience: AUDIENCE },
      ...{ issuer: "https://token.actions.githubusercontent.com", claims: { repository: "acme/tide" } },
    },
  });
  t.match(refused, {
    status: 422,
    body: { detail: /repository_id, repository_owner_id, workflow_ref or job_workflow_ref/ },
  });
});

t.test("hubs of one PostgreSQL take each token once", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const folder = t.testdir();
  const shared = {
    ...{ databaseUrl, keks: { file: join(folder, "kek.json") }, blobUrl: join(folder, "blobs") },
    ...{ listen: { host: "127.0.0.1", port: 0 }, issuerAllow: ["127.0.0.1"] },
  };
  const { hub, trust, run } = await startWorkflow(t, { ...shared, dataDir: join(folder, "a") });
  const second = await createHub({ ...shared, dataDir: join(folder, "b") });
  t.teardown(() => second.close());
  const urls = [hub.url, await second.listen()];
  await plugin(hub, "tide");
  await trust({ target: "plugin:tide" });
  for (let turn = 0; turn < 5; turn++) {
    const json = { target: "plugin:tide", token: await run() };
    const answers = await Promise.all(urls.map((url) => call(`${url}/devkeys/exchange`, "POST", { json })));
    t.same(answers.map(({ status }) => status).toSorted(), [201, 401]);
  }
});
