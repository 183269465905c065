/* oxlint-disable typescript/no-unsafe-call -- answers are JSON of any shape */
/* oxlint-disable typescript/no-unsafe-return -- answers are JSON of any shape */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import {
  createProject,
  isErrorBody,
  newSigner,
  publication,
  type RunningHub,
  startHub,
  storedFiles,
} from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";

const DEPLOY = "/app/deploy/v1";
const PLUGINS = "/app/marketplace/plugins";

async function ownerKey(hub: RunningHub, owner: string, scopes: string[], project_id?: string): Promise<string> {
  const json = { name: owner, owner, scopes, ...(project_id !== undefined && { project_id }) };
  return (await hub.call("POST", "/devkeys/api-keys", { json })).body.key as string;
}

function archiveForm(version: string, text = version): FormData {
  const archive = zipOf({ "plugin.yaml": `name: tide\n# ${text}\n` });
  const form = new FormData();
  form.set("version", version);
  form.set("signature", hmacOf(archive, "s"));
  form.set("archive", new Blob([new Uint8Array(archive)]), "archive.zip");
  return form;
}

/** Versions of a project are listed, yanked, unyanked and deleted for good. */
async function managesVersions(t: Test, hub: RunningHub): Promise<void> {
  const project = await createProject(hub, ["publish", "projects", "deploy", "read", "report"]);
  const signer = newSigner();
  const first = publication("1.0.0", { signer });
  await project.publish(first);
  const second = publication("1.1.0", { signer });
  await project.publish(second);
  const at = `/devkeys/projects/${project.id}`;
  const { key } = project;
  const bearer = await project.session();
  const latest = async () =>
    (await hub.call("GET", `${DEPLOY}/projects/${project.id}/versions/latest`, { bearer })).body.version as string;
  const listed = async () => (await hub.call("GET", `${at}/versions`, { key })).body.items;

  t.match(await listed(), [
    { version: "1.1.0", size_bytes: 1000, is_latest: true, is_yanked: false, yanked_reason: null },
    { version: "1.0.0", is_latest: false, signer_public_key: first.publicKey.toString("base64") },
  ]);
  const located = await hub.call("GET", `${DEPLOY}/projects/${project.id}/artifacts/1.1.0`, { bearer });
  const [{ published_by: publisher }] = await listed();
  t.type(publisher, "string");
  t.match(located.body, { published_by: publisher, approved_by: null });
  const page = await hub.call("GET", `${at}/versions?limit=1`, { key });
  t.match((await hub.call("GET", `${at}/versions?limit=1&cursor=${page.body.next}`, { key })).body, {
    items: [{ version: "1.0.0" }],
    next: null,
  });

  t.equal((await hub.call("POST", `${at}/versions/1.1.0/yank`, { key, json: { reason: "loses data" } })).status, 204);
  t.equal(await latest(), "1.0.0");
  t.match((await listed())[0], { is_latest: false, is_yanked: true, yanked_reason: "loses data" });
  const location = await hub.call("GET", `${DEPLOY}/projects/${project.id}/artifacts/1.1.0`, { bearer });
  t.match(location.body, { is_yanked: true, yanked_reason: "loses data" }, "it stays deployable, and says so");
  t.equal((await project.publish(second)).status, 200);
  await project.publish(publication("0.9.0", { signer }));
  t.equal(await latest(), "1.0.0", "a publication brings no yanked version back");
  t.equal((await hub.call("DELETE", `${at}/versions/1.1.0/yank`, { key })).status, 204);
  t.equal(await latest(), "1.1.0");
  isErrorBody(t, await hub.call("POST", `${at}/versions/7.0.0/yank`, { key }), 404, "not_found");
  await deprecates(t, { hub, at, key, versions: ["1.1.0", "1.0.0"] });
  const advice = { message: "old", replaced_by: "1.1.0" };
  const advised = await hub.call("GET", `${DEPLOY}/projects/${project.id}/artifacts/1.0.0`, { bearer });
  t.match(advised.body, { deprecated: advice }, "a host is told where the artifact is, and of the advice");

  isErrorBody(t, await hub.call("DELETE", `${at}/versions/1.1.0`, { key }), 422, "unprocessable");
  const before = (await storedFiles(hub)).length;
  t.equal((await hub.call("DELETE", `${at}/versions/1.1.0?reason=a+password`, { key })).status, 204);
  t.equal(await latest(), "1.0.0");
  t.strictSame(
    (await listed()).map(({ version }: { version: string }) => version),
    ["0.9.0", "1.0.0"],
  );
  t.match((await listed())[1], { deprecated: { message: "old", replaced_by: null } }, "nobody is sent to what is gone");
  t.equal((await storedFiles(hub)).length, before, "the bytes wait in the trash");
  const { download_url: url } = location.body as { download_url: string };
  isErrorBody(t, await hub.call("GET", url, { key: null }), 404, "not_found");
  const authorized = await hub.call("POST", `${DEPLOY}/deployments/authorize`, {
    bearer,
    json: { deployment_credential: project.credential, artifact_signature: second.signature.toString("base64") },
  });
  t.ok(authorized.status >= 400, "its key is gone");
  for (const again of [second, publication("1.1.0", { signer })]) {
    const refused = await project.publish(again);
    isErrorBody(t, refused, 409, "version_deleted");
    t.match(refused.body.error, /was deleted on \d{4}-\d\d-\d\d: a password\. Publish under another label/);
  }
  const audited = (await hub.call("GET", "/devkeys/audit?action=version.delete")).body.items;
  t.match(audited, [{ subject: project.id, facts: { version: "1.1.0", reason: "a password" } }]);
}

/** A version is advised against, which changes nothing but what is said of it, and that is taken back. */
async function deprecates(
  t: Test,
  { hub, at, key, versions: [latest, other] }: { hub: RunningHub; at: string; key: string; versions: [string, string] },
): Promise<void> {
  const listed = async (version: string) =>
    (await hub.call("GET", `${at}/versions`, { key })).body.items.find(
      (each: { version: string }) => each.version === version,
    );
  const advise = (version: string, json: object) =>
    hub.call("POST", `${at}/versions/${version}/deprecation`, { key, json });
  const before = await listed(latest);
  t.notOk("deprecated" in before);
  t.equal((await advise(latest, { message: "loses data" })).status, 204);
  const said = { message: "loses data", replaced_by: null };
  t.strictSame(await listed(latest), { ...before, deprecated: said }, "it stays the latest one");
  t.equal((await advise(latest, { message: "slow", replaced_by: other })).status, 204, "the last advice counts");
  await hub.call("POST", `${at}/versions/${latest}/yank`, { key });
  await hub.call("DELETE", `${at}/versions/${latest}/yank`, { key });
  t.match(await listed(latest), { deprecated: { message: "slow", replaced_by: other } }, "a yank is another matter");
  for (const replaced_by of [latest, "7.0.0", ""])
    isErrorBody(t, await advise(latest, { message: "x", replaced_by }), 422, "unprocessable");
  for (const json of [{}, { message: "" }, { message: "x".repeat(1025) }, { message: "x", more: 1 }])
    isErrorBody(t, await advise(latest, json), 422, "unprocessable");
  isErrorBody(t, await advise("7.0.0", { message: "x" }), 404, "not_found");
  t.equal((await hub.call("DELETE", `${at}/versions/${latest}/deprecation`, { key })).status, 204);
  t.strictSame(await listed(latest), before);
  await advise(other, { message: "old", replaced_by: latest });
  const { items } = (await hub.call("GET", "/devkeys/audit?action=version.deprecate&limit=2")).body;
  t.match(items, [{ facts: { version: other } }, { facts: { version: latest, reason: "slow", replaced_by: other } }]);
}

/** The same holds for the versions of a plugin. */
async function managesReleases(t: Test, hub: RunningHub): Promise<void> {
  const key = await ownerKey(hub, "alice", ["projects", "publish", "read"]);
  const json = { name: "Tide", kind: "plugin", slug: "tide" };
  const { id } = (await hub.call("POST", "/devkeys/projects", { key, json })).body as { id: string };
  for (const version of ["1.0.0", "1.1.0"])
    await hub.call("POST", `${PLUGINS}/tide/versions`, { key, form: archiveForm(version) });
  const at = `/devkeys/projects/${id}`;
  const detail = async () => (await hub.call("GET", `${PLUGINS}/tide`, { key })).body;

  await hub.call("POST", `${at}/versions/1.1.0/yank`, { key });
  t.match(await detail(), { latest_version: "1.0.0", versions: [{ is_yanked: true }, {}] });
  await hub.call("DELETE", `${at}/versions/1.1.0/yank`, { key });
  await deprecates(t, { hub, at, key, versions: ["1.1.0", "1.0.0"] });
  t.match(await detail(), { versions: [{}, { version: "1.0.0", deprecated: { message: "old" } }] });
  t.equal((await hub.call("DELETE", `${at}/versions/1.1.0?reason=broken`, { key })).status, 204);
  t.match(await detail(), { latest_version: "1.0.0", versions: [{ version: "1.0.0" }] });
  t.equal((await detail()).versions.length, 1);
  const again = await hub.call("POST", `${PLUGINS}/tide/versions`, { key, form: archiveForm("1.1.0", "other") });
  isErrorBody(t, again, 409, "version_deleted");
  t.equal((await hub.call("PATCH", at, { key, json: { name: "Tides" } })).body.name, "Tides");
  t.equal((await detail()).name, "Tides", "the detail record has the new name");
}

/** A project is renamed, and given to another owner, who alone has keys for it then. */
async function changesHands(t: Test, hub: RunningHub): Promise<void> {
  const { id, ...project } = await createProject(hub);
  const at = `/devkeys/projects/${id}`;
  t.match((await hub.call("PATCH", at, { json: { name: "Harbour" } })).body, { id, name: "Harbour", owner: "admin" });

  const unknown = await hub.call("POST", `${at}/transfer`, { json: { owner: "alcie" } });
  isErrorBody(t, unknown, 422, "unprocessable");
  t.match(unknown.body.error, /no live key belongs to alcie/);
  const alice = await ownerKey(hub, "alice", ["projects", "read", "keys", "publish"]);
  const bearer = await project.session();
  const moved = await hub.call("POST", `${at}/transfer`, { json: { owner: "alice" } });
  t.match(moved.body, { owner: "alice", revoked_keys: 1 });
  t.equal((await hub.call("GET", `${DEPLOY}/projects/${id}/versions/latest`, { bearer })).status, 401);
  t.equal((await hub.call("GET", `${at}/versions`, { key: alice })).status, 200);

  const bound = await ownerKey(hub, "alice", ["publish", "read"], id);
  const bob = await ownerKey(hub, "bob", ["read", "keys"]);
  const again = await hub.call("POST", `${at}/transfer`, { json: { owner: "alice" } });
  isErrorBody(t, again, 409, "conflict");
  t.equal((await hub.call("GET", `${at}/versions`, { key: bound })).status, 200, "and ends no key");
  const kept = await hub.call("POST", `${at}/transfer`, { json: { owner: "bob", keep_keys: true } });
  t.match(kept.body, { owner: "bob", revoked_keys: 0 });
  t.equal((await hub.call("GET", `${at}/versions`, { key: bound })).status, 200, "a kept key works on");
  const bobs = (await hub.call("GET", "/devkeys/api-keys", { key: bob })).body.items;
  t.ok(
    bobs.some((key: { project_id: string | null; owner: string }) => key.project_id === id && key.owner === "bob"),
    "and its new owner can revoke it",
  );
  const deeds = (await hub.call("GET", "/devkeys/audit?limit=200")).body.items as {
    action: string;
    subject: string;
    facts: object;
  }[];
  t.match(
    deeds
      .filter(({ action }) => action.startsWith("project.") && action !== "project.create")
      .map(({ facts }) => facts),
    [{ to: "bob", keep_keys: true }, { from: "admin", to: "alice", revoked_keys: 1 }, { to: "Harbour" }],
  );
}

const managing = { managesVersions, managesReleases, changesHands };

t.test("an owner manages versions, names and owners on SQLite", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  for (const [name, check] of Object.entries(managing)) await t.test(name, (t) => check(t, hub));
});

t.test("an owner manages versions, names and owners on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const hub = await startHub(t, { dataDir: join(t.testdir(), "hub"), databaseUrl, rateLimits: false });
  for (const [name, check] of Object.entries(managing)) await t.test(name, (t) => check(t, hub));
});

t.test("a version whose lost bytes are published again keeps its yank, its reason and its time", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub, ["publish", "projects", "deploy", "read", "report"]);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const publish = {
    project: () => project.publish(publication("1.0.0")),
    plugin: () => hub.call("POST", `${PLUGINS}/tide/versions`, { form: archiveForm("1.0.0") }),
  };
  const { body: projects } = await hub.call("GET", "/devkeys/projects");
  const items = projects.items as { id: string; kind: "project" | "plugin" }[];
  const listed = (id: string) => hub.call("GET", `/devkeys/projects/${id}/versions`).then(({ body }) => body.items);
  const before: Record<string, unknown> = {};
  for (const { id, kind } of items) {
    t.equal((await publish[kind]()).status, 201);
    const yank = `/devkeys/projects/${id}/versions/1.0.0/yank`;
    t.equal((await hub.call("POST", yank, { json: { reason: "loses data" } })).status, 204);
    await hub.call("POST", yank.replace("yank", "deprecation"), { json: { message: "loses data" } });
    [before[id]] = await listed(id);
  }
  const blobs = join(hub.dataDir, "blobs");
  for (const name of await readdir(blobs, { recursive: true }))
    if (/(?:art|rel)_[^/]*$/.test(name)) await rm(join(blobs, name));
  for (const { id, kind } of items) {
    t.equal((await publish[kind]()).status, 201, kind);
    const { is_yanked, yanked_reason, deprecated, created_at } = before[id] as Record<string, unknown>;
    t.match((await listed(id))[0], { is_yanked, yanked_reason, deprecated, created_at }, kind);
    t.match(deprecated, { message: "loses data" });
    t.equal(is_yanked, true);
  }
});

t.test("who may manage a project, and who may not", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const at = `/devkeys/projects/${project.id}`;
  const stranger = await ownerKey(hub, "mallory", ["projects", "publish", "read", "keys"]);
  for (const [method, path, json] of [
    ["GET", `${at}/versions`],
    ["PATCH", at, { name: "Mine" }],
    ["POST", `${at}/versions/1.0.0/yank`, {}],
    ["DELETE", `${at}/versions/1.0.0/yank`],
    ["DELETE", `${at}/versions/1.0.0?reason=x`],
  ] as const)
    isErrorBody(t, await hub.call(method, path, { key: stranger, json }), 404, "not_found");
  isErrorBody(
    t,
    await hub.call("POST", `${at}/transfer`, { key: stranger, json: { owner: "mallory" } }),
    403,
    "forbidden",
  );
  // A publisher yanks, and neither deletes nor renames.
  isErrorBody(t, await hub.call("DELETE", `${at}/versions/1.0.0?reason=x`, { key: project.key }), 403, "forbidden");
  isErrorBody(t, await hub.call("PATCH", at, { key: project.key, json: { name: "x" } }), 403, "forbidden");
  const reader = await ownerKey(hub, "admin", ["read"]);
  isErrorBody(t, await hub.call("POST", `${at}/versions/1.0.0/yank`, { key: reader }), 403, "forbidden");
  const bound = await ownerKey(hub, "admin", ["admin"], project.id);
  const json = { owner: "mallory" };
  isErrorBody(t, await hub.call("POST", `${at}/transfer`, { key: bound, json }), 403, "forbidden");
});
