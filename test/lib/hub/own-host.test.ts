import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { zipOf } from "../../support/hub/archives.ts";
import { type CallOptions, createProject, isErrorBody, type RunningHub, startHub } from "../../support/hub/harness.ts";
import { signatureOf } from "../../support/hub/marketplace-hub.ts";

const AT = "2026-01-01T00:00:00Z";
const RAN = { version: "1.0.0", status: "success", started_at: AT, completed_at: AT };
const REPORT = "/app/deployments/deployments/report";
const B = "/app/deploy/v1";

const issue = (hub: RunningHub, json: object, rest: CallOptions = {}) =>
  hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json }, ...rest });

const named = (host: string) => ({ "x-sealift-host": encodeURIComponent(host) });

t.test("a key that speaks for a host deploys, reports and reads, and can be given nothing more", async (t) => {
  const hub = await startHub(t);
  const made = await issue(hub, { host: "pier-7" });
  t.match(made.body, { host: "pier-7", scopes: ["deploy", "report", "read"] });
  t.equal((await hub.call("GET", "/devkeys/key", { key: made.body.key as string })).body.host, "pier-7");
  t.equal((await issue(hub, {})).body.host, null);
  t.equal((await issue(hub, { host: null })).body.host, null);
  for (const scope of ["admin", "keys", "projects", "publish"])
    isErrorBody(t, await issue(hub, { host: "pier-7", scopes: ["report", scope] }), 422, "unprocessable");
  for (const host of ["", "two words", "..", "a\u0000b", "x".repeat(256)])
    isErrorBody(t, await issue(hub, { host }), 422, "unprocessable");
  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { readOnly: true });
  const { facts } = database.prepare("select facts from audit where subject = ?").get(made.body.id as string)!;
  t.match(JSON.parse(facts as string), { host: "pier-7" });
});

t.test("a key that takes another one's place speaks for the same host", async (t) => {
  const hub = await startHub(t);
  const made = await issue(hub, { host: "pier-7" });
  const rotated = await hub.call("POST", `/devkeys/api-keys/${made.body.id as string}/rotate`, {
    json: {},
    key: made.body.key as string,
  });
  t.match(rotated, { status: 201, body: { host: "pier-7" } });
  const key = rotated.body.key as string;
  const json = { ...RAN, kind: "plugin", slug: "tide", host_id: "pier-8" };
  isErrorBody(t, await hub.call("POST", REPORT, { json, key }), 403, "other_host");
});

t.test("it reports its own host's deployments on both surfaces, and no other's", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const { key } = (await issue(hub, { host: "pier-7", project_id: project.id })).body as { key: string };
  const session = await hub.call("POST", `${B}/auth`, { key: null, json: { xdevkey: key, project_id: project.id } });
  const bearer = session.body.access_token as string;
  const a = (host: object, headers = {}) =>
    hub.call("POST", REPORT, { key, headers, json: { ...RAN, kind: "plugin", slug: "tide", ...host } });
  const b = (host: object, headers = {}) =>
    hub.call("POST", `${B}/deployments/report`, {
      ...{ bearer, headers },
      json: { ...RAN, project_id: project.id, deployment_id: "", plugins: [], ...host },
    });
  for (const [report, status] of [
    [a, 201],
    [b, 200],
  ] as const) {
    t.equal((await report({ host_id: "pier-7" }, named("pier-7"))).status, status);
    t.equal((await report({ host_id: "pier-7" })).status, status);
    isErrorBody(t, await report({ host_id: "pier-8" }), 403, "other_host");
    isErrorBody(t, await report({ host_id: "pier-8" }, named("pier-7")), 403, "other_host");
    isErrorBody(t, await report({ host_id: "pier-7" }, named("pier-8")), 403, "other_host");
    isErrorBody(t, await report({}), 403, "other_host");
  }
  t.strictSame(Object.keys((await hub.call("GET", `${B}/projects/${project.id}/hosts`)).body as object), ["pier-7"]);
});

t.test("it polls as its own host on both surfaces, and as no other one", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await hub.call("POST", "/devkeys/signing-key", { json: { secret: "the developer's own signing secret" } });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const form = new FormData();
  const archive = zipOf({ "plugin.yaml": "name: tide\nversion: 1.0.0\nentry: main.js\n", "main.js": "" });
  form.set("version", "1.0.0");
  form.set("signature", signatureOf(archive));
  form.set("archive", new Blob([new Uint8Array(archive)]), "tide.zip");
  await hub.call("POST", "/app/marketplace/plugins/tide/versions", { form });
  const { key } = (await issue(hub, { host: "pier·7" })).body as { key: string };
  const bound = (await issue(hub, { host: "pier·7", project_id: project.id })).body as { key: string };
  const opened = (headers = {}) =>
    hub.call("POST", `${B}/auth`, { key: null, headers, json: { xdevkey: bound.key, project_id: project.id } });
  const bearer = (await opened(named("pier·7"))).body.access_token as string;
  const asks: Record<string, (headers: object) => ReturnType<RunningHub["call"]>> = {
    "surface A": (headers) => hub.call("GET", "/app/marketplace/plugins/tide", { key, headers: { ...headers } }),
    "an install": (headers) =>
      hub.call("GET", "/app/marketplace/plugins/tide/install", { key, headers: { ...headers } }),
    "a session": opened,
    "surface B": (headers) =>
      hub.call("GET", `${B}/projects/${project.id}/versions/latest`, { bearer, headers: { ...headers } }),
    "a location": (headers) =>
      hub.call("GET", `${B}/projects/${project.id}/artifacts/1.0.0`, { bearer, headers: { ...headers } }),
  };
  for (const [what, ask] of Object.entries(asks)) {
    isErrorBody(t, await ask(named("pier-8")), 403, "other_host");
    t.not((await ask(named("pier·7"))).status, 403, what);
    t.not((await ask({})).status, 403, `${what}, without a name`);
  }
  t.match(
    (await asks["surface A"]!(named("pier-8"))).body.error,
    "The key speaks for the host pier·7, not for pier-8.",
  );
});
