// Holds: when the old key of a rotation ends (lib/hub/mounts/devkeys.ts)
/* oxlint-disable typescript/no-unsafe-argument -- answers are JSON of any shape */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { createProject, isErrorBody, type RunningHub, startHub } from "../../support/hub/harness.ts";

const issue = (hub: RunningHub, json: object, key?: string) =>
  hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json }, ...(key !== undefined && { key }) });

t.test("the first start makes one administrator key and a KEK file, private to the hub's user", async (t) => {
  const hub = await startHub(t);
  for (const [name, mode] of [
    ["", 0o700],
    ["admin.key", 0o600],
    ["kek.json", 0o600],
    ["hub.sqlite", 0o600],
    ["hub.sqlite-wal", 0o600],
  ] as const) {
    t.equal((await stat(join(hub.dataDir, name))).mode & 0o777, mode, name);
  }
  const keys = await hub.call("GET", "/devkeys/api-keys");
  t.equal(keys.body.items.length, 1);
  t.match(keys.body.items[0], { owner: "admin", scopes: ["admin"], revoked_at: null });
  t.notMatch(JSON.stringify(keys.body), hub.adminKey);
});

t.test("the database holds no key, credential or token in the clear", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const token = await project.session();
  const database = Buffer.concat([
    await readFile(join(hub.dataDir, "hub.sqlite")),
    await readFile(join(hub.dataDir, "hub.sqlite-wal")),
  ]);
  for (const secret of [hub.adminKey, project.key, project.credential, token]) {
    t.notOk(database.includes(secret));
    t.notOk(database.includes(Buffer.from(secret.slice(4), "base64url")));
  }
});

t.test("the key service answers at both of its mounts", async (t) => {
  const hub = await startHub(t);
  for (const mount of ["/devkeys", "/app/devkeys"]) {
    t.equal((await hub.call("GET", `${mount}/api-keys`)).status, 200);
    t.equal((await hub.call("GET", `${mount}/projects`)).status, 200);
  }
});

t.test("a new key is shown once, with a deployment credential when it is bound to a project", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const bound = await issue(hub, { project_id: project.id });
  t.equal(bound.status, 201);
  t.match(bound.body, {
    id: /^key_/,
    owner: "admin",
    scopes: ["deploy", "report", "read"],
    project_id: project.id,
    prefix: (bound.body.key as string).slice(0, 10),
    deployment_credential: /^sdc_/,
  });
  t.equal(bound.headers.get("cache-control"), "no-store");
  const unbound = await issue(hub, {});
  t.notOk("deployment_credential" in (unbound.body as object));
  const plugin = await hub.call("POST", "/devkeys/projects", { json: { name: "P", kind: "plugin", slug: "p" } });
  t.notOk("deployment_credential" in ((await issue(hub, { project_id: plugin.body.id })).body as object));
  const listed = await hub.call("GET", "/devkeys/api-keys");
  t.notMatch(JSON.stringify(listed.body), /sdc_|deployment_credential|"key":/);
});

t.test("a key creates keys with no more rights than its own", async (t) => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  const project = await createProject(hub);
  const other = await createProject(hub);
  const at = (days: number) => new Date(now + days * 86_400_000).toISOString();
  const parent = await issue(hub, {
    owner: "alice",
    scopes: ["keys", "deploy", "read"],
    project_id: project.id,
    expires_at: at(30),
  });
  t.equal(parent.status, 201);
  const key = parent.body.key as string;

  const child = await issue(hub, { scopes: ["deploy"] }, key);
  t.match(child.body, { owner: "alice", project_id: project.id, expires_at: at(30), scopes: ["deploy"] });
  t.strictSame((await issue(hub, {}, key)).body.scopes, ["deploy", "read"], "the defaults that it has itself");
  t.equal((await issue(hub, { expires_at: at(10) }, key)).body.expires_at, at(10));

  isErrorBody(t, await issue(hub, { scopes: ["publish"] }, key), 403, "forbidden");
  isErrorBody(t, await issue(hub, { scopes: ["admin"] }, key), 403, "forbidden");
  isErrorBody(t, await issue(hub, { project_id: other.id }, key), 403, "forbidden");
  isErrorBody(t, await issue(hub, { expires_at: at(31) }, key), 403, "forbidden");
  isErrorBody(t, await issue(hub, { owner: "bob" }, key), 403, "forbidden");
  isErrorBody(t, await issue(hub, { expires_at: at(-1) }), 422, "unprocessable");
  isErrorBody(t, await issue(hub, { project_id: "prj_missing000" }), 404, "not_found");
  isErrorBody(t, await issue(hub, {}, project.key), 403, "forbidden");
  const alices = await issue(hub, { owner: "alice", scopes: ["keys", "read"] });
  isErrorBody(t, await issue(hub, { project_id: other.id }, alices.body.key), 404, "not_found");
});

t.test("a list shows the own keys only, in pages", async (t) => {
  const hub = await startHub(t);
  const alice = await issue(hub, { name: "alice", owner: "alice", scopes: ["keys", "read"] });
  for (let i = 0; i < 5; i++) await issue(hub, { name: `a${i}` }, alice.body.key);
  await issue(hub, { name: "of admin" });
  const names: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page = await hub.call("GET", `/devkeys/api-keys?limit=2&cursor=${cursor}`, { key: alice.body.key });
    t.ok(page.body.items.length <= 2);
    names.push(...(page.body.items as { name: string }[]).map(({ name }) => name));
    cursor = page.body.next;
  }
  t.strictSame(names.sort(), ["a0", "a1", "a2", "a3", "a4", "alice"]);
});

t.test("deleting a key revokes it at once, and nobody revokes more than he could give", async (t) => {
  const hub = await startHub(t);
  const alice = await issue(hub, { owner: "alice", scopes: ["keys", "read"] });
  const strong = await issue(hub, { owner: "alice", scopes: ["keys", "read", "publish"] });
  const bob = await issue(hub, { owner: "bob", scopes: ["keys"] });
  const remove = (id: string, key: string) => hub.call("DELETE", `/devkeys/api-keys/${id}`, { key });
  isErrorBody(t, await remove(alice.body.id, bob.body.key), 404, "not_found");
  isErrorBody(t, await remove("key_unknown", alice.body.key), 404, "not_found");
  isErrorBody(t, await remove(strong.body.id, alice.body.key), 403, "forbidden");
  t.equal((await remove(alice.body.id, strong.body.key)).status, 204);
  isErrorBody(t, await hub.call("GET", "/devkeys/api-keys", { key: alice.body.key }), 401, "key_rejected");
  t.equal((await remove(strong.body.id, strong.body.key)).status, 204, "a key may revoke itself");
  isErrorBody(t, await hub.call("GET", "/devkeys/api-keys", { key: strong.body.key }), 401, "key_rejected");
});

t.test("an expired key is refused", async (t) => {
  let now = Date.parse("2026-03-01T12:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  const key = await issue(hub, { scopes: ["read"], expires_at: "2026-03-01T13:30:00+01:00" });
  t.equal(key.body.expires_at, "2026-03-01T12:30:00.000Z");
  t.equal((await hub.call("GET", "/devkeys/projects", { key: key.body.key })).status, 200);
  now += 30 * 60_000;
  isErrorBody(t, await hub.call("GET", "/devkeys/projects", { key: key.body.key }), 401, "key_rejected");
});

t.test("projects get their id from the hub, plugins and services their slug from the caller", async (t) => {
  const hub = await startHub(t);
  const create = (json: object, key = hub.adminKey) => hub.call("POST", "/devkeys/projects", { json, key });
  const project = await create({ name: "Mine", kind: "project" });
  t.match(project.body.slug, /^prj_[0-9a-f]{32}$/);
  t.equal(project.body.id, project.body.slug);
  t.match((await create({ name: "P", kind: "plugin", slug: "hello" })).body, { kind: "plugin", slug: "hello" });
  t.equal((await create({ name: "S", kind: "service", slug: "hello" })).status, 201, "kinds have slugs of their own");
  isErrorBody(t, await create({ name: "Q", kind: "plugin", slug: "hello" }), 409, "conflict");
  isErrorBody(t, await create({ name: "P", kind: "plugin" }), 422, "unprocessable");
  isErrorBody(t, await create({ name: "P", kind: "project", slug: "x" }), 422, "unprocessable");
  isErrorBody(t, await create({ name: "P", kind: "plugin", slug: "No/Slash" }), 422, "unprocessable");
  isErrorBody(t, await create({ name: "P", kind: "robot", slug: "x" }), 422, "unprocessable");
  isErrorBody(t, await create({ kind: "plugin", slug: "x" }), 422, "unprocessable");
  const listed = await hub.call("GET", "/devkeys/projects");
  t.equal(listed.body.items.length, 3);
  const alice = await issue(hub, { owner: "alice", scopes: ["projects"] });
  t.equal((await hub.call("GET", "/devkeys/projects", { key: alice.body.key })).body.items.length, 0);
});

t.test("a key ends after 90 days unless something else is asked, and its successor lives as long", async (t) => {
  const DAY = 86_400_000;
  let now = Date.parse("2026-01-01T00:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  const inDays = (days: number) => new Date(now + days * DAY).toISOString();
  const made = await issue(hub, { name: "hosts" });
  t.equal(made.body.expires_at, inDays(90));
  t.equal((await issue(hub, { expires_at: null })).body.expires_at, null);
  const short = await issue(hub, { scopes: ["keys", "read"], expires_at: inDays(10) });
  const child = { name: "x", scopes: ["read"] };
  const byShort = await hub.call("POST", "/devkeys/api-keys", { key: short.body.key, json: child });
  t.equal(byShort.body.expires_at, inDays(10), "not beyond its creator's end");

  now += 80 * DAY;
  const rotated = await hub.call("POST", `/devkeys/api-keys/${made.body.id as string}/rotate`, { json: {} });
  t.equal(rotated.body.expires_at, inDays(90));
});

t.test("a key that ends does not live longer by replacing itself", async (t) => {
  const DAY = 86_400_000;
  let now = Date.parse("2026-01-01T00:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  const end = new Date(now + 10 * DAY).toISOString();
  const { body } = await issue(hub, { scopes: ["keys"], expires_at: end });
  now += 5 * DAY;
  const again = await hub.call("POST", `/devkeys/api-keys/${body.id as string}/rotate`, { key: body.key, json: {} });
  t.equal(again.body.expires_at, end);
});

t.test("a key that may only publish gets no credential of hosts, and finds its project by name", async (t) => {
  const hub = await startHub(t);
  const { body: project } = await hub.call("POST", "/devkeys/projects", { json: { name: "Demo", kind: "project" } });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Other", kind: "project" } });
  const { body } = await issue(hub, { project_id: project.id, scopes: ["publish"] });
  t.equal("deployment_credential" in body, false);
  const listed = await hub.call("GET", "/devkeys/projects", { key: body.key });
  t.match(listed.body.items, [{ id: project.id }]);
  t.equal(listed.body.items.length, 1);
  t.type((await issue(hub, { project_id: project.id })).body.deployment_credential, "string");
});

t.test("an owner's name is taken by one project of a kind, in whatever letters, unless both are wanted", async (t) => {
  const hub = await startHub(t);
  const create = (json: object, key = hub.adminKey) => hub.call("POST", "/devkeys/projects", { json, key });
  const { id } = (await create({ name: "Mine", kind: "project" })).body as { id: string };
  t.match(await create({ name: "mINE", kind: "project" }), { status: 409, body: { code: "name_taken", id } });
  t.equal((await create({ name: "Mine", kind: "plugin", slug: "mine" })).status, 201, "of another kind");
  const alice = await issue(hub, { owner: "alice", scopes: ["projects"] });
  t.equal((await create({ name: "Mine", kind: "project" }, alice.body.key)).status, 201, "of another owner");
  const other = await create({ name: "Mine", kind: "project", same_name: true });
  t.equal(other.status, 201);
  const rename = (json: object) => hub.call("PATCH", `/devkeys/projects/${other.body.id as string}`, { json });
  t.equal((await rename({ name: "Other" })).status, 200);
  t.match(await rename({ name: "mine" }), { status: 409, body: { code: "name_taken", id } });
  t.equal((await rename({ name: "OTHER" })).status, 200, "it may have its own");
  t.equal((await rename({ name: "Mine", same_name: true })).status, 200);
});

t.test("a text that one of the databases would not store is refused on both", async (t) => {
  const hub = await startHub(t);
  isErrorBody(t, await issue(hub, { name: "a\0b" }), 422, "unprocessable");
  const json = { name: "a\0b", kind: "project" };
  isErrorBody(t, await hub.call("POST", "/devkeys/projects", { json }), 422, "unprocessable");
  isErrorBody(t, await hub.call("GET", "/devkeys/audit?actor=a%00b"), 422, "unprocessable");
});
