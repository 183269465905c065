import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { openDatabase } from "../../../lib/hub/records/database.ts";
import { Sightings } from "../../../lib/hub/records/sightings.ts";
import { isErrorBody, type RunningHub, startHub } from "../../support/hub/harness.ts";

const DEPLOY = "/app/deploy/v1";
const HOSTS = "/app/deployments/deployments/plugin/tide/hosts";
const FLEETS = "/app/deployments/deployments/fleets";

const issue = async (hub: RunningHub, json: object): Promise<string> =>
  (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json } })).body.key as string;

const report = (hub: RunningHub, host: string, key = hub.adminKey) =>
  hub.call("POST", "/app/deployments/deployments/report", {
    key,
    json: {
      ...{ kind: "plugin", slug: "tide", version: "1.0.0", status: "success", host_id: host },
      ...{ started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:05Z" },
    },
  });

const createProject = async (hub: RunningHub, json: object, key = hub.adminKey): Promise<string> =>
  (await hub.call("POST", "/devkeys/projects", { json, key })).body.id as string;

/** Reports to a project's fleet, through a session. */
async function reportProject(hub: RunningHub, id: string, key: string, host: string): Promise<string> {
  const { body } = await hub.call("POST", `${DEPLOY}/auth`, { json: { xdevkey: key, project_id: id }, key: null });
  const bearer = body.access_token as string;
  const json = {
    ...{ project_id: id, deployment_id: host, status: "success", version: "1.0.0", plugins: [], host_id: host },
    ...{ started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:05Z" },
  };
  t.equal((await hub.call("POST", `${DEPLOY}/deployments/report`, { json, bearer })).status, 200);
  return bearer;
}

const hostsOf = async (hub: RunningHub, path: string, key = hub.adminKey) =>
  Object.keys((await hub.call("GET", path, { key })).body as object);

t.test("a forgotten host is gone until it reports again, and its owner's audit log says who did it", async (t) => {
  const hub = await startHub(t);
  await createProject(hub, { name: "T", kind: "plugin", slug: "tide" });
  for (const host of ["a", "b"]) await report(hub, host);
  const before = await hub.call("GET", HOSTS);
  const cursor = before.headers.get("x-cursor")!;
  t.equal((await hub.call("DELETE", `${HOSTS}/b`)).status, 204);
  t.strictSame(await hostsOf(hub, HOSTS), ["a"]);
  isErrorBody(t, await hub.call("DELETE", `${HOSTS}/b`), 404, "not_found");

  const etag = before.headers.get("etag")!;
  t.equal((await hub.call("GET", HOSTS, { headers: { "if-none-match": etag } })).status, 200, "the view has changed");
  const since = await hub.call("GET", `${HOSTS}?since=${cursor}`);
  t.equal(since.headers.get("x-whole-view"), "true", "a reader of changes is told that hosts may be gone");
  t.strictSame(Object.keys(since.body as object), ["a"]);
  await report(hub, "b");
  const after = await hub.call("GET", `${HOSTS}?since=${since.headers.get("x-cursor")}`);
  t.equal(after.headers.get("x-whole-view"), null);
  t.strictSame(Object.keys(after.body as object), ["b"]);
  t.strictSame(await hostsOf(hub, HOSTS), ["a", "b"]);
  const history = await hub.call("GET", HOSTS.replace("/hosts", "/reports?host_id=b"));
  t.equal((history.body.items as unknown[]).length, 2, "its reports stay in the log");
  const audit = await hub.call("GET", "/devkeys/audit?action=host.forget");
  t.match(audit.body.items, [{ actor: "admin", subject: "plugin/tide", facts: { host_id: "b" } }]);
});

t.test("only the fleet's owner forgets its hosts, with a key that may manage", async (t) => {
  const hub = await startHub(t);
  const alice = await issue(hub, { owner: "alice", scopes: ["projects", "report", "read"] });
  const alicesHost = await issue(hub, { owner: "alice" });
  const bob = await issue(hub, { owner: "bob", scopes: ["projects", "read"] });
  await report(hub, "web", alicesHost);
  const forget = (key: string | null) => hub.call("DELETE", `${HOSTS}/web`, { key });
  isErrorBody(t, await forget(alicesHost), 403, "forbidden");
  isErrorBody(t, await forget(bob), 404, "not_found");
  isErrorBody(t, await forget(hub.adminKey), 404, "not_found");
  isErrorBody(t, await forget(null), 401, "key_missing");
  const other = await createProject(hub, { name: "O", kind: "plugin", slug: "other" }, alice);
  const bound = await issue(hub, { owner: "alice", scopes: ["projects"], project_id: other });
  isErrorBody(t, await forget(bound), 403, "forbidden");
  t.strictSame(await hostsOf(hub, HOSTS, alice), ["web"]);
  t.equal((await forget(alice)).status, 204);

  const project = await createProject(hub, { name: "Harbour", kind: "project" }, alice);
  await reportProject(hub, project, alicesHost, "db");
  const path = `${DEPLOY}/projects/${project}/hosts`;
  const forgetProject = (key: string) => hub.call("DELETE", `${path}/db`, { key });
  isErrorBody(t, await forgetProject(alicesHost), 403, "forbidden");
  isErrorBody(t, await forgetProject(bob), 403, "forbidden");
  isErrorBody(t, await forgetProject(bound), 403, "forbidden");
  t.equal((await forgetProject(alice)).status, 204);
  t.strictSame(await hostsOf(hub, path, alice), []);
});

t.test("the list of fleets has the owner's reports and the projects that the key controls", async (t) => {
  const hub = await startHub(t);
  const alice = await issue(hub, { owner: "alice", scopes: ["projects", "deploy", "report", "read"] });
  const bob = await issue(hub, { owner: "bob", scopes: ["projects", "deploy", "report", "read"] });
  for (const host of ["a", "b"]) await report(hub, host, alice);
  await report(hub, "bobs", bob);
  const project = await createProject(hub, { name: "Harbour", kind: "project" }, alice);
  await reportProject(hub, project, alice, "db");
  const fleets = async (key: string, query = "") =>
    (await hub.call("GET", FLEETS + query, { key })).body as { items: object[]; next: string | null };
  const own = [
    { target: "plugin:tide", name: null, hosts: 2 },
    { target: `project:${project}`, name: "Harbour", hosts: 1 },
  ];
  t.strictSame(await fleets(alice), { items: own, next: null });
  t.strictSame((await fleets(bob)).items, [{ target: "plugin:tide", name: null, hosts: 1 }]);
  t.strictSame((await fleets(hub.adminKey)).items, [own[1]], "an administrator sees every project");
  const bound = await issue(hub, { owner: "bob", scopes: ["read"], project_id: project });
  t.match((await fleets(bound)).items, [{ target: "plugin:tide" }, { target: `project:${project}` }]);
  const first = await fleets(alice, "?limit=1");
  t.strictSame(first.items, [own[0]]);
  t.strictSame((await fleets(alice, `?limit=1&cursor=${encodeURIComponent(first.next as string)}`)).items, [own[1]]);
  isErrorBody(t, await hub.call("GET", FLEETS, { key: null }), 401, "key_missing");
});

t.test("a host that says its name when it polls is seen, on both surfaces", async (t) => {
  const hub = await startHub(t);
  await createProject(hub, { name: "T", kind: "plugin", slug: "tide" });
  const project = await createProject(hub, { name: "Harbour", kind: "project" });
  await report(hub, "tromsø");
  await report(hub, "silent");
  const bearer = await reportProject(hub, project, hub.adminKey, "db");
  const named = (host: string) => ({ headers: { "x-sealift-host": encodeURIComponent(host) } });
  await hub.call("GET", "/app/marketplace/plugins/tide", named("tromsø"));
  await hub.call("GET", "/app/marketplace/plugins/tide", { ...named("silent"), key: null });
  for (const bad of ["%zz", "a b", "x".repeat(300)]) {
    const { status } = await hub.call("GET", "/app/marketplace/plugins/tide", { headers: { "x-sealift-host": bad } });
    t.equal(status, 200, "a name that is none is passed over");
  }
  await hub.call("GET", `${DEPLOY}/projects/${project}/versions/latest`, { ...named("db"), bearer });
  await hub.hub.close();

  const again = await startHub(t, { dataDir: hub.dataDir });
  const { body } = await again.call("GET", HOSTS);
  t.match(body["tromsø"], { seen_at: /^2\d{3}-/, version: "1.0.0" });
  t.notOk("seen_at" in (body["silent"] as object), "a poll without a key says nothing");
  const ofProject = (await again.call("GET", `${DEPLOY}/projects/${project}/hosts`)).body;
  t.match(ofProject["db"], { seen_at: /^2/ }, "also while nothing is published");
});

t.test("a host is written down once an hour, and no more when the database is away", async (t) => {
  const hub = await startHub(t);
  await report(hub, "a");
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  let now = Date.parse("2026-01-01T00:00:00Z");
  await using sightings = new Sightings(database.kysely, () => now);
  const poll = { headers: { "x-sealift-host": "a" } };
  const seen = async () => (await hub.call("GET", HOSTS)).body["a"].seen_at as string;
  for (const [minutes, expected] of [
    [0, "00:00"],
    [59, "00:00"],
    [2, "01:01"],
  ] as const) {
    now += minutes * 60_000;
    sightings.note(poll, { holder: "admin", target: "plugin/tide" });
    await sightings.write();
    t.equal(await seen(), `2026-01-01T${expected}:00.000Z`);
  }
  await database.close();
  now += 86_400_000;
  sightings.note(poll, { holder: "admin", target: "plugin/tide" });
  await sightings.write();
  t.match(await seen(), "T01:01");
});
