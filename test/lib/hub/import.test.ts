import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { HubError } from "../../../lib/hub/base/errors.ts";
import { FEATURES } from "../../../lib/hub/features.ts";
import { fetchArchive } from "../../../lib/hub/features/import/fetch-archive.ts";
import { SourceHosts, type SourceShape } from "../../../lib/hub/features/import/source-hosts.ts";
import { rotateKek } from "../../../lib/hub/keys/rotate-kek.ts";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import { isErrorBody, type RunningHub, startHub, storedFiles } from "../../support/hub/harness.ts";
import { until } from "../../support/until.ts";

const SECRET = "a developer's own secret";
const PLUGINS = "/app/marketplace/plugins";
const ARCHIVE = zipOf({ "tide-1.0.0/plugin.yaml": "name: tide\n" });

type Answerer = (request: IncomingMessage, response: ServerResponse) => void;

/** A source host of the test's own. */
async function sourceHost(t: Test, answer: Answerer): Promise<{ origin: string; host: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin: `http://${host}`, host, asked };
}

async function startWithPlugin(t: Test, options: Parameters<typeof startHub>[1]): Promise<RunningHub> {
  const hub = await startHub(t, options);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  return hub;
}

const register = (hub: RunningHub) => hub.call("POST", "/devkeys/signing-key", { json: { secret: SECRET } });

const importTide = (hub: RunningHub, changes: object = {}) =>
  hub.call("POST", `${PLUGINS}/tide/import`, { json: { version: "1.0.0", repo: "acme/tide@v1.0.0", ...changes } });

t.test("archive URLs have the shape of each kind of source host", async (t) => {
  const hosts = new SourceHosts();
  const url = (name: string, reference: string) => hosts.archiveUrl(hosts.find(name), reference).href;
  t.equal(url("github.com", "acme/tide@v1.0.0"), "https://github.com/acme/tide/archive/refs/tags/v1.0.0.zip");
  t.equal(url("gitlab.com", "a/b/tide@v1"), "https://gitlab.com/a/b/tide/-/archive/v1/tide-v1.zip");
  t.equal(url("codeberg.org", "acme/tide@v1"), "https://codeberg.org/acme/tide/archive/v1.zip");
  t.equal(hosts.find(undefined).origin, "https://github.com");
  t.throws(
    () => hosts.find("evil.example"),
    new HubError(422, "unprocessable", "host: this hub imports from github.com, gitlab.com, codeberg.org."),
  );
});

t.test("the hub imports an archive from its source host and signs it with the registered secret", async (t) => {
  for (const shape of ["github", "gitlab", "gitea"] satisfies SourceShape[]) {
    const source = await sourceHost(t, (_request, response) => response.end(ARCHIVE));
    const folder = t.testdir({ [shape]: {} });
    const hub = await startWithPlugin(t, {
      dataDir: join(folder, shape, "hub"),
      sourceHosts: [{ shape, origin: source.origin }],
    });
    t.equal((await register(hub)).status, 201);
    const imported = await importTide(hub, { visibility: "private" });
    t.equal(imported.status, 201);
    t.match(imported.body, { version: "1.0.0", repo: "acme/tide@v1.0.0", size_bytes: ARCHIVE.length });
    const installed = await hub.call("GET", `${PLUGINS}/tide/install`);
    t.ok(installed.bytes.equals(ARCHIVE));
    t.equal(installed.headers.get("x-signature"), hmacOf(ARCHIVE, SECRET));
    t.equal(installed.headers.get("x-repo"), "acme/tide@v1.0.0");
    t.equal((await hub.call("GET", `${PLUGINS}/tide`, { key: null })).status, 404);
    t.equal((await importTide(hub)).status, 200, "the same archive again");
    t.match(source.asked[0], /^\/acme\/tide\/.*v1\.0\.0\.zip$/);
  }
});

t.test("redirects are followed to origins of the allow-list only", async (t) => {
  const store = await sourceHost(t, (_request, response) => response.end(ARCHIVE));
  const inside = await sourceHost(t, (_request, response) => response.end(ARCHIVE));
  let location = "";
  const source = await sourceHost(t, (_request, response) => response.writeHead(302, { location }).end("elsewhere"));
  const hub = await startWithPlugin(t, {
    sourceHosts: [{ shape: "github", origin: source.origin, redirects: [store.origin] }],
  });
  await register(hub);
  for (const target of [
    `${inside.origin}/secret`,
    "http://169.254.169.254/latest/meta-data",
    "http://localhost/x",
    "file:///etc/passwd",
    "/loop",
    "",
  ]) {
    location = target;
    isErrorBody(t, await importTide(hub), 502, "hub_unavailable");
  }
  t.strictSame(inside.asked, []);
  t.strictSame(await storedFiles(hub), []);
  location = `${store.origin}/x.zip`;
  t.equal((await importTide(hub)).status, 201);
});

t.test("a source host that misbehaves leaves nothing", async (t) => {
  let answer: Answerer = () => {};
  const source = await sourceHost(t, (request, response) => answer(request, response));
  const hub = await startWithPlugin(t, {
    maxArtifactBytes: 50_000,
    sourceHosts: [{ shape: "github", origin: source.origin }],
  });
  isErrorBody(t, await importTide(hub), 409, "conflict");
  await register(hub);
  const attempts: [Answerer, number, string][] = [
    [(_, response) => response.writeHead(404).end(), 404, "not_found"],
    [(_, response) => response.writeHead(500).end(), 502, "hub_unavailable"],
    [(request) => request.socket.destroy(), 502, "hub_unavailable"],
    [(_, response) => response.end("<html>sign in</html>"), 422, "zip_invalid"],
    [(_, response) => response.writeHead(200, { "content-length": "60000" }).write("PK"), 413, "too_large"],
    [(_, response) => response.end(Buffer.alloc(50_001)), 413, "too_large"],
    [
      (_, response) => {
        response.writeHead(200, { "content-length": "1000" }).write("PK");
        setTimeout(() => response.destroy(), 50);
      },
      502,
      "hub_unavailable",
    ],
    [(_, response) => response.end(zipOf({ "../x": "1" })), 422, "member_unsafe"],
  ];
  for (const [misbehaviour, status, code] of attempts) {
    answer = misbehaviour;
    isErrorBody(t, await importTide(hub), status, code);
    t.strictSame(await storedFiles(hub), []);
  }
  isErrorBody(t, await importTide(hub, { host: "evil.example" }), 422, "unprocessable");
  isErrorBody(t, await importTide(hub, { repo: "no-tag" }), 422, "unprocessable");
  isErrorBody(t, await importTide(hub, { version: undefined }), 422, "unprocessable");
});

t.test("an import ends with its client, with the hub, and when its source host drips", async (t) => {
  let dripping: ServerResponse | undefined;
  const drip: Answerer = (request, response) => {
    dripping = response;
    response.writeHead(200, { "content-length": ARCHIVE.length });
    response.write(ARCHIVE.subarray(0, 10));
    const timer = setInterval(() => response.write("."), 10);
    request.socket.once("close", () => clearInterval(timer));
  };
  const source = await sourceHost(t, drip);
  const host = { shape: "github", origin: source.origin } as const;
  const hub = await startWithPlugin(t, { sourceHosts: [host], drainTimeoutMs: 100 });
  await register(hub);
  const begun = async (): Promise<Promise<unknown>[]> => {
    await until(() => dripping !== undefined);
    const { socket } = dripping!;
    dripping = undefined;
    return [once(socket!, "close")];
  };
  const leaving = new AbortController();
  const headers = { "x-api-key": hub.adminKey, "content-type": "application/json" };
  const body = JSON.stringify({ version: "1.0.0", repo: "acme/tide@v1.0.0" });
  const left = fetch(`${hub.url}${PLUGINS}/tide/import`, { method: "POST", headers, body, signal: leaving.signal });
  const [given] = await begun();
  leaving.abort();
  await t.rejects(left);
  await given;
  await until(async () => (await storedFiles(hub)).length <= 0);

  const sources = { sourceHosts: new SourceHosts([host]), maxArtifactBytes: 2 ** 30, logger: undefined };
  const leastRate = { bytesPerSecond: 1000, overMs: 100 };
  const { signal } = new AbortController();
  const read = async () => {
    for await (const chunk of fetchArchive(sources, host, "acme/tide@v1.0.0", { signal, leastRate })) t.ok(chunk);
  };
  await t.rejects(read(), { code: "hub_unavailable" });

  dripping = undefined;
  const cut = t.rejects(importTide(hub));
  const [ended] = await begun();
  await hub.hub.close();
  await cut;
  await ended;
  await until(async () => (await storedFiles(hub)).length <= 0);
});

t.test("a signing secret goes in and never comes out, and survives a rotation", async (t) => {
  const source = await sourceHost(t, (_request, response) => response.end(ARCHIVE));
  const hub = await startWithPlugin(t, { sourceHosts: [{ shape: "gitea", origin: source.origin }] });
  isErrorBody(t, await hub.call("GET", "/devkeys/signing-key"), 404, "not_found");
  isErrorBody(t, await hub.call("POST", "/devkeys/signing-key", { json: { secret: "short" } }), 422, "unprocessable");
  const registered = await register(hub);
  t.strictSame(Object.keys(registered.body as object).sort(), ["created_at", "owner"]);
  t.notMatch((await hub.call("GET", "/app/devkeys/signing-key")).bytes.toString(), SECRET);
  await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });
  t.equal((await importTide(hub)).status, 201);
  const bound = await hub.call("POST", "/devkeys/api-keys", {
    json: {
      name: "bound",
      scopes: ["publish"],
      project_id: ((await hub.call("GET", `${PLUGINS}/tide`)).body as { id: string }).id,
    },
  });
  const key = bound.body.key as string;
  isErrorBody(t, await hub.call("GET", "/devkeys/signing-key", { key }), 403, "forbidden");
  t.equal((await hub.call("DELETE", "/devkeys/signing-key")).status, 204);
  isErrorBody(t, await hub.call("DELETE", "/devkeys/signing-key"), 404, "not_found");
  isErrorBody(t, await importTide(hub, { version: "2.0.0" }), 409, "conflict");
});

t.test("the route of imports is in the OpenAPI document", async (t) => {
  const hub = await startHub(t);
  const { paths } = (await hub.call("GET", "/openapi.json")).body as { paths: Record<string, object> };
  t.match(paths["/app/marketplace/plugins/{slug}/import"], { post: {} });
});
