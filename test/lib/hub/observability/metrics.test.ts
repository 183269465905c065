import { once } from "node:events";
import { rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { call, createProject, publication, startHub } from "../../../support/hub/harness.ts";
import { metricsOf } from "../../../support/metrics.ts";

const LATEST = "/app/deploy/v1/projects/:project_id/versions/latest";

async function measuredHub(t: Test) {
  const hub = await startHub(t, { metricsListen: { host: "127.0.0.1", port: 0 } });
  return { hub, metrics: () => metricsOf(hub.hub.metricsUrl!) };
}

t.test("the hub's numbers tell of requests, publications, sessions, storage and keys", async (t) => {
  const { hub, metrics } = await measuredHub(t);
  const project = await createProject(hub);
  const what = publication("1.0.0", { size: 4000 });
  await project.publish(what);
  await project.publish(what);
  await project.publish({ ...what, ...publication("1.0.0") });
  const bearer = await project.session();
  const latest = `/app/deploy/v1/projects/${project.id}/versions/latest`;
  const { headers } = await hub.call("GET", latest, { bearer });
  await hub.call("GET", latest, { bearer, headers: { "if-none-match": headers.get("etag")! } });
  await hub.call("GET", latest, { bearer: "nonsense" });
  await hub.call("GET", "/no/such/route");
  await hub.hub.upkeep.run();

  const { value, names } = await metrics();
  const route = LATEST;
  t.equal(value("sealift_hub_requests_total", { method: "GET", route, status: "200" }), 1);
  t.equal(value("sealift_hub_requests_total", { method: "GET", route, status: "304" }), 1);
  t.equal(value("sealift_hub_requests_total", { method: "GET", route, status: "401" }), 1);
  t.equal(value("sealift_hub_requests_total", { route: "none", status: "404" }), 1, "unknown paths are one label");
  t.equal(value("sealift_hub_request_duration_seconds_count", { route }), 3);
  t.equal(value("sealift_hub_request_duration_seconds_bucket", { route, le: "+Inf" }), 3);
  t.equal(value("sealift_hub_sent_bytes_total", { route: LATEST })! > 0, true);
  t.equal(value("sealift_hub_publishes_total", { kind: "project", outcome: "created" }), 1);
  t.equal(value("sealift_hub_publishes_total", { kind: "project", outcome: "unchanged" }), 1);
  t.equal(value("sealift_hub_publishes_total", { kind: "project", outcome: "refused" }), 1);
  t.equal(value("sealift_hub_published_bytes_total", { kind: "project" }), 4000);
  t.equal(value("sealift_hub_failures_total", { code: "key_rejected" }), 1);
  t.equal(value("sealift_hub_failures_total", { code: "version_exists" }), 1);
  t.equal(value("sealift_hub_sessions_opened_total"), 1);
  t.equal(value("sealift_hub_sessions"), 1);
  t.ok(value("sealift_hub_database_duration_seconds_count", { operation: "read" })! > 2);
  t.ok(value("sealift_hub_database_duration_seconds_count", { operation: "write" })! > 2);
  t.equal(value("sealift_hub_blob_duration_seconds_count", { operation: "store" }), 3);
  for (const part of ["database_read", "database_write", "blobs"]) t.equal(value("sealift_hub_part_up", { part }), 1);
  t.equal(value("sealift_hub_artifacts"), 1);
  t.ok(value("sealift_hub_sweep_timestamp_seconds")! > 1.7e9);
  t.ok(value("sealift_hub_kek_age_seconds")! < 600);
  t.ok(value("sealift_process_resident_memory_bytes")! > 1e7);
  t.ok(names.every((name) => /^sealift_[a-z_]+$/.test(name)));
});

t.test("a part of the storage that fails says so in the numbers", async (t) => {
  const { hub, metrics } = await measuredHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  await rm(join(hub.dataDir, "blobs"), { recursive: true });
  const { value } = await metrics();
  t.equal(value("sealift_hub_part_up", { part: "blobs" }), 0);
  t.equal(value("sealift_hub_part_up", { part: "database_read" }), 1);
  const again = await metrics();
  t.ok(again.value("sealift_hub_blob_failures_total", { operation: "check" })! >= 1);
});

t.test("connections that a full accept queue drops are counted", { skip: process.platform !== "linux" }, async (t) => {
  const { metrics } = await measuredHub(t);
  const dropped = async () => (await metrics()).value("sealift_hub_accept_overflows_total");
  const before = (await dropped())!;
  const server = createServer().listen({ host: "127.0.0.1", port: 0, backlog: 1 });
  t.teardown(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // All of them begin in this turn of the event loop, which accepts in the next one.
  const clients = Array.from({ length: 8 }, () => connect({ host: "127.0.0.1", port }));
  await once(clients[0]!, "connect");
  for (const client of clients) client.destroy();
  t.ok((await dropped())! > before);
});

t.test("the listener has nothing but the metrics, and an address that is taken is told with its option", async (t) => {
  const { hub } = await measuredHub(t);
  const url = hub.hub.metricsUrl!;
  t.equal((await call(new URL("/devkeys/projects", url).href, "GET", { key: hub.adminKey })).status, 404);
  t.equal((await call(url, "POST", { body: "x" })).status, 405);
  t.equal((await call(`${hub.url}/metrics`, "GET")).status, 404, "clients of the hub have no metrics");
  const { port } = new URL(url);
  const metricsListen = { host: "127.0.0.1", port: Number(port) };
  await t.rejects(startHub(t, { dataDir: join(t.testdir(), "b"), metricsListen }), {
    code: "usage",
    hint: /--metrics-listen/,
  });
});
