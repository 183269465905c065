import { readdirSync } from "node:fs";
import { join } from "node:path";
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import t, { type Test } from "tap";
import { openBlobs } from "../../../lib/hub/blobs/open.ts";
import { FEATURES } from "../../../lib/hub/features.ts";
import { createHub } from "../../../lib/hub/hub.ts";
import { openDatabase } from "../../../lib/hub/records/database.ts";
import { sweepBlobs } from "../../../lib/hub/storage/sweep.ts";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import { createProject, isErrorBody, publication, startHub } from "../../support/hub/harness.ts";
import { BUCKET, type S3Server, startS3 } from "../../support/hub/s3-server.ts";
import { type Answer, startScripted } from "../../support/hub/scripted-server.ts";

interface Place {
  server: S3Server;
  data: string;
  /** Keys in the bucket. */
  keys: () => string[];
}

async function place(t: Test): Promise<Place> {
  const folder = t.testdir({ data: {}, objects: {} });
  const objects = join(folder, "objects");
  const server = await startS3(t, objects);
  const keys = (): string[] =>
    readdirSync(join(objects, BUCKET), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith("._S3rver_object"))
      .map((name) => name.replace("._S3rver_object", ""))
      .toSorted();
  return { server, data: join(folder, "data"), keys };
}

t.test("artifacts lie in the bucket, and hosts fetch them there through addresses that need no key", async (t) => {
  const { server, data, keys } = await place(t);
  const hub = await startHub(t, { dataDir: data, blobUrl: server.url() });
  const project = await createProject(hub);
  const what = publication("1.0.0", { size: 300_000 });
  await project.publish(what);
  t.match(keys(), [/^hub\/art_\w+$/, "hub/sealift-database"]);
  t.strictSame(readdirSync(join(data, "incoming")), []);

  const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
  const bearer = await project.session();
  const { body } = await hub.call("GET", path, { bearer });
  const url = new URL(body.download_url as string);
  t.equal(url.origin, server.endpoint);
  t.equal(url.searchParams.get("X-Amz-Expires"), "900");
  const whole = await fetch(url);
  t.ok(Buffer.from(await whole.arrayBuffer()).equals(what.bytes));
  const etag = whole.headers.get("etag")!;
  const part = await fetch(url, { headers: { range: "bytes=1000-", "if-range": etag } });
  t.equal(part.status, 206);
  t.ok(Buffer.from(await part.arrayBuffer()).equals(what.bytes.subarray(1000)));
  // A mirror of the agent's site asks nobody but the hub.
  const mirrored = await hub.call("GET", path, { bearer, headers: { "x-sealift-mirrored": "true" } });
  const own = mirrored.body.download_url as string;
  t.ok(own.startsWith(`${hub.url}/app/deploy/v1/downloads/`));
  t.ok(Buffer.from(await (await fetch(own)).arrayBuffer()).equals(what.bytes));
});

t.test("downloads=hub keeps the storage out of sight", async (t) => {
  const { server, data } = await place(t);
  const hub = await startHub(t, { dataDir: data, blobUrl: server.url("hub", "&downloads=hub") });
  const project = await createProject(hub);
  const what = publication("1.0.0", { size: 10_000 });
  await project.publish(what);
  const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
  const url = (await hub.call("GET", path, { bearer: await project.session() })).body.download_url as string;
  t.ok(url.startsWith(hub.url));
  t.ok((await hub.call("GET", url, { key: null })).bytes.equals(what.bytes));
  const range = await hub.call("GET", url, { key: null, headers: { range: "bytes=10-19" } });
  t.equal(range.status, 206);
  t.ok(range.bytes.equals(what.bytes.subarray(10, 20)));
});

t.test("a marketplace archive is checked before it leaves this machine, and installed through the hub", async (t) => {
  const { server, data, keys } = await place(t);
  const hub = await startHub(t, { dataDir: data, blobUrl: server.url("") });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tides", kind: "plugin", slug: "tides" } });
  const publish = (archive: Buffer) => {
    const form = new FormData();
    form.set("version", "1.0.0");
    form.set("signature", hmacOf(archive, "secret"));
    form.set("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "archive.zip");
    return hub.call("POST", "/app/marketplace/plugins/tides/versions", { form });
  };
  const before = keys();
  isErrorBody(t, await publish(Buffer.from("no zip")), 422, "zip_invalid");
  t.strictSame(keys(), before);
  const archive = zipOf({ "tides-1.0.0/plugin.yaml": "version: 1.0.0\n" });
  t.equal((await publish(archive)).status, 201);
  const installed = await hub.call("GET", "/app/marketplace/plugins/tides/install");
  t.equal(installed.status, 200);
  t.ok(installed.bytes.equals(archive));
  t.equal((await hub.call("GET", "/readyz")).status, 200);
});

t.test("a database has its prefix to itself, and a sweep leaves what is not a blob", async (t) => {
  const { server, data, keys } = await place(t);
  const client = new S3Client({ endpoint: server.endpoint, forcePathStyle: true });
  t.teardown(() => client.destroy());
  const others = { Bucket: BUCKET, Key: "hub/somebody's own file" };
  await client.send(new PutObjectCommand({ ...others, Body: "precious" }));
  const orphan = `rel_${"0".repeat(32)}`;
  const first = await startHub(t, { dataDir: data, blobUrl: server.url() });
  await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: `hub/${orphan}`, Body: "left by a crash" }));
  const database = await openDatabase({ hooks: FEATURES, dataDir: data });
  t.teardown(() => database.close());
  const blobs = await openBlobs(data, server.url());
  const options = { minAgeMs: 0, trashAgeMs: 7 * 86_400_000 };
  // The storage's clock counts in seconds.
  const sweep = (now: number) => sweepBlobs({ database, blobs }, { ...options, now });
  t.match(await sweep(Date.now() + 2000), { trashed: 1, removed: 0 });
  t.match(await sweep(Date.now() + 6 * 86_400_000), { trashed: 0, removed: 0 });
  t.match(await sweep(Date.now() + 8 * 86_400_000), { trashed: 0, removed: 1 });
  t.notOk(keys().some((key) => key.includes(orphan)));
  t.equal(await (await client.send(new GetObjectCommand(others))).Body!.transformToString(), "precious");

  const another = join(data, "..", "another");
  await t.rejects(createHub({ dataDir: another, blobUrl: server.url() }), {
    kind: "UsageError",
    message: /The database is new, but the bucket blobs, below hub\/ holds artifacts of another one/,
  });
  await startHub(t, { dataDir: another, blobUrl: server.url("another") });
  await first.hub.close();
  await startHub(t, { dataDir: data, blobUrl: server.url() });
});

t.test("a storage without conditional writes is claimed without", async (t) => {
  await place(t);
  let stored: string | undefined;
  const xml = (status: number, code: string): Answer => {
    return (response) => {
      response.writeHead(status, { "content-type": "application/xml" });
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
    };
  };
  const object: Answer = (response, request, count) => {
    if (request.method === "PUT" && request.headers["if-none-match"] !== undefined)
      return xml(501, "NotImplemented")(response, request, count);
    if (request.method === "PUT") stored = request.body.toString();
    if (stored === undefined) return xml(404, "NoSuchKey")(response, request, count);
    response.end(request.method === "PUT" ? "" : stored);
  };
  const server = await startScripted(t, { routes: [[/./, "object"]], truth: () => object });
  const blobs = await openBlobs(t.testdir({}), `s3://${BUCKET}?endpoint=${encodeURIComponent(server.url)}`);
  t.equal(await blobs.claim("this database"), "this database");
  t.equal(stored, "this database");
  t.equal(await blobs.claim("another one"), "this database");
});

const ID = `art_${"0".repeat(32)}`;

t.test("download addresses are dated by the bucket, which is who checks them", async (t) => {
  await place(t);
  // This machine's clock is 20 minutes behind: an address of 15 minutes would have ended before anyone had it.
  const theirs = Date.now() + 20 * 60_000;
  const object: Answer = (response) => {
    response.writeHead(200, { date: new Date(theirs).toUTCString(), "content-length": 5 });
    response.end("bytes");
  };
  const server = await startScripted(t, { routes: [[/./, "object"]], truth: () => object });
  const blobs = await openBlobs(t.testdir({}), `s3://${BUCKET}?endpoint=${encodeURIComponent(server.url)}`);
  t.equal(await blobs.size(ID), 5);
  const signed = new URL((await blobs.directUrl!(ID, 900_000))!).searchParams.get("X-Amz-Date")!;
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(signed)!.map(Number);
  const [year, month, ...rest] = parts as [number, number, number, number, number, number];
  const difference = Date.UTC(year, month - 1, ...rest) - theirs;
  t.ok(Math.abs(difference) < 60_000, `${signed} is ${difference} ms from the bucket's time`);
});

t.test("a storage that cannot be used ends the start with what to do, and without secrets", async (t) => {
  const { server, data } = await place(t);
  const missing = server.url().replace(BUCKET, "missing");
  const refused = {
    kind: "UsageError",
    code: "usage",
    message: /bucket missing cannot be used: NoSuchBucket/,
    hint: /--blob-url/,
  };
  await t.rejects(createHub({ dataDir: data, blobUrl: missing }), refused);
  const nobody = `s3://${BUCKET}?endpoint=http://127.0.0.1:1`;
  const away = {
    kind: "UsageError",
    code: "connection_failed",
    exitCode: 75,
    message: /cannot be reached: .*ECONNREFUSED/,
  };
  await t.rejects(createHub({ dataDir: data, blobUrl: nobody }), away);
  await t.rejects(createHub({ dataDir: data, blobUrl: "gs://bucket" }), { message: /gs: is not known/ });
});

t.test(
  "a storage that goes away is told by readyz, and uploads that it takes with it leave nothing behind",
  async (t) => {
    const { server, data } = await place(t);
    const hub = await startHub(t, { dataDir: data, blobUrl: server.url() });
    const project = await createProject(hub);
    await server.close();
    const ready = await hub.call("GET", "/readyz");
    t.equal(ready.status, 200, "agents can still be answered");
    t.match((await hub.call("GET", "/readyz?verbose")).body, { status: "degraded", parts: { blobs: { ok: false } } });
    const refused = await project.publish(publication("1.0.0"));
    isErrorBody(t, refused, 503, "hub_unavailable");
    t.ok(Number(refused.headers.get("retry-after")) > 0);
    t.strictSame(readdirSync(join(data, "incoming")), []);
    const path = `/app/deploy/v1/projects/${project.id}/versions/latest`;
    t.equal(
      (await hub.call("GET", path, { bearer: await project.session() })).status,
      404,
      "no version became visible",
    );
  },
);

t.test("a bucket that refuses the hub is not away: its operator has to look at the credentials", async (t) => {
  await place(t);
  let stored: string | undefined;
  let isDenied = false;
  const xml = (response: Parameters<Answer>[0], status: number, code: string): void => {
    response.writeHead(status, { "content-type": "application/xml" });
    response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
  };
  const object: Answer = (response, request) => {
    if (isDenied) return xml(response, 403, "AccessDenied");
    if (request.path.includes("list-type")) return void response.end("<ListBucketResult></ListBucketResult>");
    if (request.method === "PUT") stored = request.body.toString();
    if (stored === undefined) return xml(response, 404, "NoSuchKey");
    response.end(request.method === "PUT" ? "" : stored);
  };
  const server = await startScripted(t, { routes: [[/./, "object"]], truth: () => object });
  const blobUrl = `s3://${BUCKET}?endpoint=${encodeURIComponent(server.url)}`;
  const hub = await startHub(t, { dataDir: join(t.testdirName, "hub"), blobUrl });
  const project = await createProject(hub);
  isDenied = true;
  const { body } = await hub.call("GET", "/readyz?verbose");
  t.match(body, { status: "degraded", parts: { blobs: { ok: false, trouble: "refused" } } });
  const refused = await project.publish(publication("1.0.0"));
  isErrorBody(t, refused, 503, "hub_unavailable");
  t.match(refused.body.error, /refuses the hub/);
  t.equal(refused.headers.get("retry-after"), "60");
});
