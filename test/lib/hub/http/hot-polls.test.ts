import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import t, { type Test } from "tap";
import { createProject, publication, type RunningHub, startHub } from "../../../support/hub/harness.ts";
import { publishedArchive } from "../../../support/hub/published.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const PLUGIN = "/app/marketplace/plugins/tides";
const SERVICE = "/app/services/services/tides";

/** Counts the requests that reach the routes. */
function countRoutes(t: Test): () => number {
  let count = 0;
  const channel = "tracing:fastify.request.handler:start";
  const onRequest = () => count++;
  subscribe(channel, onRequest);
  t.teardown(() => unsubscribe(channel, onRequest));
  return () => count;
}

/** An answer to the last byte, but for the moment it was made at. */
async function exchange(socket: Socket, request: string): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.write(request);
  await once(socket, "end");
  return Buffer.concat(chunks)
    .toString("latin1")
    .replace(/^Date: .*\r\n/m, "");
}

const request = (line: string, headers: Record<string, string>): string =>
  [`${line} HTTP/1.1`, "Host: hub", "X-Request-ID: the-same", ...Object.entries(headers).map((pair) => pair.join(": "))]
    .concat("Connection: close", "", "")
    .join("\r\n");

async function ask(hub: RunningHub, line: string, headers: Record<string, string>): Promise<string> {
  const socket = connect(Number(new URL(hub.url).port), "127.0.0.1");
  return exchange(socket, request(line, headers));
}

/** A plugin and a service that everyone may see, a private plugin, and a project with a session. */
async function furnish(t: Test, hub: RunningHub) {
  for (const kind of ["plugin", "service"] as const)
    await (await publishedArchive(hub, kind, "tides", temporaryFolder(t))).publish("1.0.0");
  await (await publishedArchive(hub, "plugin", "hidden", temporaryFolder(t))).publish("1.0.0");
  await hub.call("PATCH", "/app/marketplace/plugins/hidden", { json: { visibility: "private" } });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const session = await project.session();
  return { project, session, latest: `/app/deploy/v1/projects/${project.id}/versions/latest` };
}

/** Makes the same request one that is left to the routes: a length says that it has a body, of no bytes. */
const toRoutes = { "Content-Length": "0" };

t.test("a poll is answered as its route answers it, to the last byte", async (t) => {
  const hub = await startHub(t);
  const { project, session, latest } = await furnish(t, hub);
  const routed = countRoutes(t);
  const etagOf = async (path: string, headers: Record<string, string>): Promise<string> =>
    /^etag: (.*)\r$/m.exec(await ask(hub, `GET ${path}`, headers))![1]!;

  const key = { "X-API-Key": hub.adminKey };
  const bearer = { Authorization: `Bearer ${session}` };
  for (const [path, headers] of [
    [PLUGIN, {}],
    [PLUGIN, key],
    [SERVICE, key],
    [PLUGIN, { ...key, ...bearer }],
    ["/app/marketplace/plugins/hidden", key],
    [latest, bearer],
    [latest, { Authorization: `bearer   ${session}` }],
  ] as const) {
    const etag = await etagOf(path, headers);
    const conditions = [{}, ...[etag, `"other", W/${etag}`, "*", '"other"'].map((tag) => ({ "If-None-Match": tag }))];
    for (const method of path === latest ? ["GET"] : ["GET", "HEAD"]) {
      for (const condition of conditions) {
        const before = routed();
        const hot = await ask(hub, `${method} ${path}`, { ...headers, ...condition });
        t.equal(routed(), before, "no route was asked");
        const cold = await ask(hub, `${method} ${path}`, { ...headers, ...condition, ...toRoutes });
        t.equal(routed(), before + 1);
        t.match(hot, /^HTTP\/1\.1 (?:200 OK|304 Not Modified)\r\n/);
        t.equal(hot, cold, `${method} ${path} ${JSON.stringify({ ...headers, ...condition })}`);
      }
    }
  }
  t.match(await ask(hub, `GET ${latest}`, bearer), /\r\n\r\n\{"version":"1\.0\.0"\}$/);
  t.ok(project.key);
});

t.test("whatever is not plainly a success is left to the routes", async (t) => {
  const hub = await startHub(t);
  const { session, latest } = await furnish(t, hub);
  const bearer = { Authorization: `Bearer ${session}` };
  const other = await (await createProject(hub)).session();
  const reporting = await (await createProject(hub, ["report"])).session();
  const issued = await hub.call("POST", "/devkeys/api-keys", { json: { name: "stranger", owner: "someone else" } });
  const stranger = issued.body.key as string;
  const routed = countRoutes(t);
  const key = { "X-API-Key": hub.adminKey };
  for (const [line, headers, status] of [
    ["GET /app/marketplace/plugins/none", key, 404],
    ["GET /app/marketplace/plugins/hidden", {}, 404],
    ["GET /app/marketplace/plugins/hidden", { "X-API-Key": stranger }, 404],
    [`GET ${PLUGIN}`, { "X-API-Key": "slk_wrong" }, 401],
    [`GET ${PLUGIN}`, { "X-API-Key": "" }, 401],
    [`GET ${PLUGIN}`, { "X-API-Key": "x".repeat(600) }, 401],
    [`GET ${PLUGIN}`, bearer, 200],
    [`GET ${PLUGIN}/`, key, 200],
    [`GET ${PLUGIN}?a=b`, key, 200],
    ["GET /app/marketplace/plugins/%74ides", key, 200],
    [`GET ${PLUGIN}`, { ...key, Range: "bytes=0-3" }, 206],
    [`DELETE ${PLUGIN}/versions`, key, 404],
    [`GET ${latest}`, {}, 401],
    [`HEAD ${latest}`, bearer, 404],
    [`GET ${latest}`, { Authorization: "Bearer sls_wrong" }, 401],
    [`GET ${latest}`, { Authorization: `Bearer ${other}` }, 403],
    [`GET ${latest}`, { Authorization: `Bearer ${reporting}` }, 403],
    [`GET ${latest}`, key, 401],
  ] as const) {
    const before = routed();
    const answer = await ask(hub, line, headers);
    t.match(answer, `HTTP/1.1 ${status} `, `${line} ${JSON.stringify(headers)}`);
    t.equal(await ask(hub, line, { ...headers, ...toRoutes }), answer);
    if (answer.includes("200 OK")) t.equal(routed(), before + 2, `${line}: both reached the routes`);
  }
});

t.test("a key that is revoked is refused by the next poll", async (t) => {
  const hub = await startHub(t);
  const { project, session, latest } = await furnish(t, hub);
  const bearer = { Authorization: `Bearer ${session}` };
  const key = { "X-API-Key": project.key };
  t.match(await ask(hub, `GET ${latest}`, bearer), "HTTP/1.1 200 OK");
  t.match(await ask(hub, `GET ${PLUGIN}`, key), "HTTP/1.1 200 OK");
  t.equal((await hub.call("DELETE", `/devkeys/api-keys/${project.keyId}`)).status, 204);
  t.match(await ask(hub, `GET ${latest}`, bearer), "HTTP/1.1 401 ");
  t.match(await ask(hub, `GET ${PLUGIN}`, key), "HTTP/1.1 401 ");
});

t.test("polls and other requests of a key are counted together, and each once", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { rateLimits: { requestsPerMinute: 40 }, clock: () => now });
  await furnish(t, hub);
  now += 60_000;
  const key = { "X-API-Key": hub.adminKey };
  const statuses: string[] = [];
  for (let count = 0; count < 42; count++)
    statuses.push((await ask(hub, `GET ${PLUGIN}`, { ...key, ...(count % 2 === 0 && toRoutes) })).slice(9, 12));
  t.same(statuses, [...Array<string>(40).fill("200"), "429", "429"]);
  const anonymous = await Promise.all(Array.from({ length: 45 }, () => ask(hub, `GET ${PLUGIN}`, {})));
  t.equal(anonymous.filter((answer) => answer.startsWith("HTTP/1.1 200 ")).length, 40, "at the same time, too");
});

t.test("polls leave the line in the log that their routes leave", async (t) => {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      const line = JSON.parse(String(chunk)) as Record<string, unknown>;
      if (line["msg"] === "request" && line["requestId"] === "the-same") lines.push(line);
      done();
    },
  });
  const hub = await startHub(t, { logger: pino({ level: "debug", base: null, timestamp: false }, sink) });
  await furnish(t, hub);
  for (const method of ["GET", "HEAD"]) {
    for (const headers of [{}, toRoutes])
      await ask(hub, `${method} ${PLUGIN}`, { "X-API-Key": hub.adminKey, ...headers });
  }
  while (lines.length < 4) await sleep(20);
  for (const line of lines) {
    t.type(line["duration_ms"], "number");
    delete line["duration_ms"];
  }
  t.same(lines[0], lines[1]);
  t.same(lines[2], lines[3]);
  t.match(lines[0], { level: 20, method: "GET", path: PLUGIN, status: 200, address: "127.0.0.1" });
  t.match(lines[2], { level: 30, method: "HEAD" });
});

t.test("behind a proxy the address of an anonymous poll is for the routes to find out", async (t) => {
  const hub = await startHub(t, { trustedProxies: ["127.0.0.1"] });
  await furnish(t, hub);
  const routed = countRoutes(t);
  await ask(hub, `GET ${PLUGIN}`, { "X-Forwarded-For": "192.0.2.7" });
  t.equal(routed(), 1);
  await ask(hub, `GET ${PLUGIN}`, { "X-API-Key": hub.adminKey });
  t.equal(routed(), 1, "a key is counted whatever the address is");
});

t.test("a poll during the drain is answered, and its connection closed", async (t) => {
  const hub = await startHub(t);
  await furnish(t, hub);
  const socket = connect(Number(new URL(hub.url).port), "127.0.0.1");
  await once(socket, "connect");
  const text = request(`GET ${PLUGIN}`, {}).replace("Connection: close\r\n", "");
  // A request whose head has begun keeps its connection open.
  socket.write(text.slice(0, 40));
  await sleep(100);
  const closed = hub.hub.close();
  await sleep(100);
  const answer = await exchange(socket, text.slice(40));
  t.match(answer, /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i);
  await closed;
});
