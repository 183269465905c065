import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { createHub } from "../../../lib/hub/hub.ts";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";

t.test("a hub that is started again knows everything, and keeps its administrator key", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const bearer = await project.session();
  await hub.hub.close();
  const again = await startHub(t, { dataDir: hub.dataDir });
  t.equal(again.adminKey, hub.adminKey);
  const latest = await again.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, { bearer });
  t.strictSame(latest.body, { version: "1.0.0" });
});

t.test("a database with a schema of another version is refused, and stays as it is", async (t) => {
  const hub = await startHub(t);
  await hub.hub.close();
  {
    using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { timeout: 10_000 });
    database.exec("insert into kysely_migration values ('0999-of-the-future', '2030-01-01T00:00:00.000Z')");
  }
  const { dataDir } = hub;
  await t.rejects(createHub({ listen: { host: "127.0.0.1", port: 0 }, dataDir }), {
    code: "usage",
    message: /schema that this version of Sealift does not know/,
    hint: /it is newer than this one/,
  });
});

t.test("an administrator key that a crash left unnamed is put in its place", async (t) => {
  const hub = await startHub(t);
  await hub.hub.close();
  await rename(join(hub.dataDir, "admin.key"), join(hub.dataDir, "admin.key.pending"));
  const again = await startHub(t, { dataDir: hub.dataDir });
  t.equal(again.adminKey, hub.adminKey);
  t.notOk((await readdir(hub.dataDir)).includes("admin.key.pending"));
});

t.test("the start removes unfinished uploads, and moves blobs without a record to the trash", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const published = await project.publish(publication("1.0.0"));
  const id = published.body.artifact_id as string;
  await hub.hub.close();
  const blobs = join(hub.dataDir, "blobs");
  await writeFile(join(blobs, "incoming", "abc.part"), "half");
  await mkdir(join(blobs, "00"), { recursive: true });
  const [orphan, fresh] = [`art_${"0".repeat(32)}`, `art_${"1".repeat(30)}00`];
  for (const name of [orphan, fresh]) await writeFile(join(blobs, "00", name), "orphan");
  await utimes(join(blobs, "00", orphan), 0, 0);
  await writeFile(join(blobs, "00", "somebody's own file"), "precious");
  const again = await startHub(t, { dataDir: hub.dataDir });
  await again.hub.upkeep.run();
  const left = (await readdir(blobs, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  t.strictSame(
    left.map(({ parentPath, name }) => relative(blobs, join(parentPath, name))).toSorted(),
    [
      `${id.slice(-2)}/${id}`,
      `00/${fresh}`,
      "00/somebody's own file",
      "sealift-database",
      `trash/${orphan}`,
    ].toSorted(),
  );
});

t.test("sessions that have ended are removed beside the requests", async (t) => {
  let ahead = 0;
  const hub = await startHub(t, { clock: () => Date.now() + ahead });
  const project = await createProject(hub);
  await project.session();
  ahead = 3_600_001;
  const bearer = await project.session();
  await hub.hub.upkeep.run();
  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { readOnly: true });
  t.match(database.prepare("select count(*) as n from sessions").get(), { n: 1 });
  const path = `/app/deploy/v1/projects/${project.id}/versions/latest`;
  t.match(await hub.call("GET", path, { bearer }), { status: 404, body: { code: "no_version" } });
});

t.test("a data dir has one hub at a time", async (t) => {
  const hub = await startHub(t);
  await t.rejects(createHub({ dataDir: hub.dataDir }), { code: "usage" });
  t.equal((await hub.call("GET", "/readyz")).status, 200);
  await hub.hub.close();
  await (await createHub({ dataDir: hub.dataDir })).close();
});

t.test("closing lets an upload in flight end, and takes no new connections", async (t) => {
  const hub = await startHub(t, { drainTimeoutMs: 5000 });
  const project = await createProject(hub);
  const { hostname, port } = new URL(hub.url);
  const body = JSON.stringify({ xdevkey: project.key, project_id: project.id });
  const sending = request({
    host: hostname,
    port,
    method: "POST",
    path: "/app/deploy/v1/auth",
    headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
  });
  const answered = new Promise<number>((resolve, reject) => {
    sending.on("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sending.on("error", reject);
  });
  sending.write(body.slice(0, 10));
  await delay(100);
  const closed = hub.hub.close();
  await delay(100);
  await t.rejects(fetch(`${hub.url}/healthz`));
  sending.end(body.slice(10));
  t.equal(await answered, 200);
  await closed;
});

t.test("closing does not wait for ever", async (t) => {
  const hub = await startHub(t, { drainTimeoutMs: 200 });
  const { hostname, port } = new URL(hub.url);
  const stuck = request({ host: hostname, port, method: "POST", path: "/x", headers: { "content-length": 100 } });
  stuck.on("error", () => {});
  stuck.write("1");
  await delay(50);
  const started = Date.now();
  await hub.hub.close();
  t.ok(Date.now() - started < 4000);
});

t.test("the health routes tell a live process from a ready one", async (t) => {
  const hub = await startHub(t);
  t.strictSame((await hub.call("GET", "/healthz", { key: null })).body, { status: "ok" });
  t.strictSame((await hub.call("GET", "/readyz", { key: null })).body, { status: "ok" });
  await delay(600);
  await rm(join(hub.dataDir, "blobs"), { recursive: true });
  t.match((await hub.call("GET", "/readyz?verbose", { key: null })).body, {
    status: "degraded",
    parts: { database_read: { ok: true }, database_write: { ok: true }, blobs: { ok: false, trouble: "failed" } },
    lost_blobs: 0,
  });
  t.equal((await hub.call("GET", "/healthz", { key: null })).status, 200);
});

t.test("storage that the hub does not know is a usage error", async (t) => {
  const dataDir = join(t.testdir(), "hub");
  await t.rejects(createHub({ dataDir, blobUrl: "s3://bucket" }), { code: "usage" });
  await t.rejects(createHub({ dataDir, databaseUrl: "mysql://x/y" }), { code: "usage" });
});

t.test(
  "a data folder that cannot be made is a usage error, at once",
  { skip: process.platform !== "linux" },
  async (t) => {
    for (const dataDir of ["/proc/x", "/proc/x/y", "/dev/null/x"])
      await t.rejects(createHub({ dataDir }), { code: "usage" });
  },
);

t.test("database, blobs and KEK file may live elsewhere", async (t) => {
  const folder = t.testdir({ elsewhere: {} });
  const elsewhere = join(folder, "elsewhere");
  const hub = await startHub(t, {
    dataDir: join(folder, "hub"),
    databaseUrl: `sqlite:${join(elsewhere, "records.sqlite")}`,
    blobUrl: `file://${join(elsewhere, "bytes")}`,
    keks: { file: join(elsewhere, "keys.json") },
  });
  t.strictSame((await readdir(hub.dataDir)).sort(), ["admin.key", "database-id", "hub.lock"]);
  t.match((await readdir(elsewhere)).sort().join(" "), /bytes.*keys\.json.*records\.sqlite/);
  t.match(await readFile(join(elsewhere, "keys.json"), "utf8"), /kek_/);
});
