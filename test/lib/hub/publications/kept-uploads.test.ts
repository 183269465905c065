// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { DiskBlobs } from "../../../../lib/hub/blobs/disk.ts";
import type { HubOptions } from "../../../../lib/hub/hub.ts";
import { KeptUploads } from "../../../../lib/hub/publications/kept-uploads.ts";
import {
  createProject,
  isErrorBody,
  publication,
  publishForm,
  sha256,
  startHub,
  storedFiles,
} from "../../../support/hub/harness.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";
import {
  askOffset,
  beginUpload,
  cutUpload,
  incomingFiles,
  namedForm,
  newUploadId,
  offsetOf,
  placeOf,
  restForm,
  sendForm,
} from "../../../support/hub/resumed.ts";
import { startS3 } from "../../../support/hub/s3-server.ts";
import { startTwoHubs } from "../../../support/hub/two-hubs.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";

const MIB = 1024 * 1024;

async function prepared(t: Test, options: Partial<HubOptions> = {}) {
  const hub = await startHub(t, options);
  const project = await createProject(hub);
  return { hub, project, place: placeOf(project) };
}

async function goesOn(t: Test, options: Partial<HubOptions>): Promise<void> {
  const { hub, project, place } = await prepared(t, options);
  const what = publication("1.0.0", { size: 6 * MIB });
  const id = newUploadId();
  await cutUpload(hub, place, namedForm(what, id), 2 * MIB);
  const first = await offsetOf(hub, place, id);
  t.ok(first > MIB && first < 2 * MIB, `${first} bytes are kept`);
  await cutUpload(hub, place, restForm(what, id, first), MIB);
  const second = await offsetOf(hub, place, id);
  t.ok(second > first && second < first + MIB, `then ${second}`);
  const published = await sendForm(hub, place, restForm(what, id, second));
  t.equal(published.status, 201, JSON.stringify(published.body));
  t.match(published.body, { size_bytes: what.bytes.length, artifact_sha256: sha256(what.bytes) });
  const { download_url: url } = (
    await hub.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`, { bearer: await project.session() })
  ).body as { download_url: string };
  t.ok((await hub.call("GET", url, { key: null })).bytes.equals(what.bytes), "every byte is in its place");
  t.equal((await askOffset(hub, place, id)).status, 404, "it is over");
  t.strictSame(await incomingFiles(hub), {});
}

t.test("an upload that is cut twice goes on where it was, with its digests over all bytes", (t) => goesOn(t, {}));

t.test("… on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.comment("no PostgreSQL here");
  await goesOn(t, { databaseUrl });
});

t.test(
  "two hubs of one database: those that share a folder share it, and with a bucket each has its own",
  async (t) => {
    const databaseUrl = await startPostgres(t);
    if (databaseUrl === undefined) return void t.comment("no PostgreSQL here");
    const [first, second] = await startTwoHubs(t, { databaseUrl });
    const place = placeOf(await createProject(first));
    const what = publication("1.0.0", { size: 3 * MIB });
    const id = newUploadId();
    await cutUpload(first, place, namedForm(what, id), 2 * MIB);
    const kept = await offsetOf(second, place, id);
    t.ok(kept > MIB);
    t.equal((await sendForm(second, place, restForm(what, id, kept))).status, 201);
    t.equal((await askOffset(first, place, id)).status, 404);
    t.strictSame(await incomingFiles(first), {});
  },
);

t.test("… with a bucket", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.comment("no PostgreSQL here");
  const server = await startS3(t, temporaryFolder(t));
  const [first, second] = await startTwoHubs(t, { databaseUrl, blobUrl: server.url() });
  const project = await createProject(first);
  const place = placeOf(project);
  const what = publication("1.0.0", { size: 3 * MIB });
  const id = newUploadId();
  await cutUpload(first, place, namedForm(what, id), 2 * MIB);
  isErrorBody(t, await askOffset(second, place, id), 404, "not_found");
  const kept = await offsetOf(first, place, id);
  t.ok(kept > MIB);
  t.equal((await sendForm(first, place, restForm(what, id, kept))).status, 201);
  const { body } = await first.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`, {
    bearer: await project.session(),
  });
  t.equal(sha256(Buffer.from(await (await fetch(body.download_url as string)).arrayBuffer())), sha256(what.bytes));
  t.strictSame(await incomingFiles(first), {});
});

t.test("a hub that ends in the middle of an upload keeps it", async (t) => {
  const dataDir = join(t.testdir(), "hub");
  const first = await startHub(t, { dataDir, drainTimeoutMs: 100 });
  const place = placeOf(await createProject(first));
  const what = publication("1.0.0", { size: 6 * MIB });
  const id = newUploadId();
  await beginUpload(first, { key: place.key, path: `${place.base}/publish` }, namedForm(what, id), 4 * MIB);
  await until(async () => Object.values(await incomingFiles(first)).some((bytes) => bytes > MIB));
  await first.hub.close();
  const hub = await startHub(t, { dataDir });
  const kept = await offsetOf(hub, place, id);
  t.ok(kept > MIB);
  t.equal((await sendForm(hub, place, restForm(what, id, kept))).status, 201);
});

t.test("a file whose form is cut behind it is kept whole, and the next request sends none of it", async (t) => {
  const { hub, place } = await prepared(t);
  const what = publication("1.0.0", { size: 3 * MIB });
  const id = newUploadId();
  const form = new FormData();
  form.set("upload_id", id);
  for (const [name, value] of publishForm(what, { fileFirst: true })) form.set(name, value);
  const { length } = Buffer.from(await new Response(form).arrayBuffer());
  await cutUpload(hub, place, form, length - 100);
  t.equal(await offsetOf(hub, place, id), what.bytes.length);
  t.equal((await sendForm(hub, place, restForm(what, id, what.bytes.length))).status, 201);
});

t.test("an upload without an id, and one that is refused, leave nothing", async (t) => {
  const { hub, place } = await prepared(t);
  const what = publication("1.0.0", { size: 3 * MIB });
  const path = `${place.base}/publish`;
  const { cut } = await beginUpload(hub, { key: place.key, path }, publishForm(what), 2 * MIB);
  await until(async () => (await storedFiles(hub)).length === 1);
  cut();
  await until(async () => (await storedFiles(hub)).length === 0);
  const id = newUploadId();
  const flipped = { ...what, bytes: Buffer.from(what.bytes) };
  flipped.bytes[500]! ^= 1;
  isErrorBody(t, await sendForm(hub, place, namedForm(flipped, id)), 400, "signature_rejected");
  t.equal((await askOffset(hub, place, id)).status, 404);
  t.strictSame(await storedFiles(hub), []);
});

t.test("an upload that is cut before its first byte takes no place", async (t) => {
  const blobs = new DiskBlobs(temporaryFolder(t));
  await blobs.prepare();
  const uploads = new KeptUploads(blobs, MIB);
  const place = { owner: "anna", targetId: "prj_1" };
  const request = { ...place, uploads, mayKeep: () => Promise.resolve(), giveWay: () => {} };
  {
    await using arriving = await uploads.begin(request, { upload_id: newUploadId() });
    await arriving.keep!();
  }
  t.strictSame(await blobs.kept(""), []);
});

/** Uploads of anna to one target, as one process of a hub keeps them in a folder. */
async function keeper(folder: string) {
  const blobs = new DiskBlobs(folder);
  await blobs.prepare();
  const uploads = new KeptUploads(blobs, MIB);
  const asked = { gaveWay: 0, mayKeep: 0 };
  const request = {
    ...{ owner: "anna", targetId: "prj_1", uploads, giveWay: () => void asked.gaveWay++ },
    mayKeep: async () => void asked.mayKeep++,
  };
  const begin = async (upload_id: string, bytes = Buffer.alloc(0), rest: { upload_offset?: number } = {}) => {
    const upload_sha256 = sha256(Buffer.alloc(rest.upload_offset ?? 0, 1));
    const arriving = await uploads.begin(request, { upload_id, ...rest, upload_sha256 });
    await arriving.blob.write(bytes);
    arriving.hash.update(bytes);
    return arriving;
  };
  return { blobs, uploads, asked, begin };
}

t.test("a start ends a request that brings the same upload, unless all of it has come", async (t) => {
  const { begin, asked } = await keeper(temporaryFolder(t));
  const id = newUploadId();
  const first = await begin(id);
  const second = begin(id);
  await until(() => asked.gaveWay === 1);
  await first[Symbol.asyncDispose]();
  const arriving = await second;
  arriving.whole!();
  await t.rejects(begin(id), { statusCode: 409, code: "upload_busy" });
  t.equal(asked.gaveWay, 1, "it is not ended");
  await arriving[Symbol.asyncDispose]();
});

t.test("of two processes that go on with one upload, one finds it gone", async (t) => {
  const folder = temporaryFolder(t);
  const [one, other] = [await keeper(folder), await keeper(folder)];
  const id = newUploadId();
  {
    await using arriving = await one.begin(id, Buffer.alloc(1000, 1));
    await arriving.keep!();
  }
  const rest = { upload_offset: 1000 };
  const both = await Promise.allSettled([one, other].map(({ begin }) => begin(id, Buffer.alloc(0), rest)));
  t.strictSame(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  for (const each of both)
    if (each.status === "rejected") t.match(each.reason, { statusCode: 404, code: "not_found" });
    else await each.value[Symbol.asyncDispose]();
});

t.test("what cannot be kept is not counted", async (t) => {
  const folder = temporaryFolder(t);
  const [{ begin, asked }, { blobs }] = [await keeper(folder), await keeper(folder)];
  await using arriving = await begin(newUploadId(), Buffer.alloc(1000, 1));
  for (const { path } of await blobs.kept("")) await blobs.forget(path);
  await arriving.keep!();
  t.equal(asked.mayKeep, 0);
  t.strictSame(await blobs.kept(""), []);
});

t.test("a process that is alone removes what killed ones were writing, beyond eight of an owner", async (t) => {
  const folder = temporaryFolder(t);
  const killed = await keeper(folder);
  await using left = new AsyncDisposableStack();
  for (let files = 0; files < 9; files++) left.use(await killed.begin(newUploadId(), Buffer.alloc(10, 1)));
  const { blobs, uploads } = await keeper(folder);
  t.equal((await blobs.kept("")).length, 9);
  await uploads.trim(false);
  t.equal((await blobs.kept("")).length, 9, "another process may write them");
  await uploads.trim(true);
  t.equal((await blobs.kept("")).length, 8);
});

t.test("a wrong offset is told the right one, and a prefix that differs is dropped", async (t) => {
  const { hub, place } = await prepared(t);
  const what = publication("1.0.0", { size: 3 * MIB });
  const id = newUploadId();
  await cutUpload(hub, place, namedForm(what, id), 2 * MIB);
  const kept = await offsetOf(hub, place, id);
  for (const offset of [0, 1, kept - 1, kept + 1, 3 * MIB])
    t.match(await sendForm(hub, place, restForm(what, id, offset)), {
      status: 409,
      body: { code: "upload_offset", upload_offset: kept },
    });
  t.equal(await offsetOf(hub, place, id), kept, "it is still there");
  for (const [field, value] of [
    ["upload_offset", "-1"],
    ["upload_offset", "1e3"],
    ["upload_offset", ""],
    ["upload_sha256", "00"],
    ["upload_id", "../../hub"],
  ] as const) {
    const form = new FormData();
    for (const [name, each] of restForm(what, id, kept)) form.set(name, name === field ? value : each);
    isErrorBody(t, await sendForm(hub, place, form), 422, "unprocessable");
  }
  const unnamed = new FormData();
  for (const [name, value] of restForm(what, id, kept)) if (!name.startsWith("upload_")) unnamed.set(name, value);
  isErrorBody(t, await sendForm(hub, place, unnamed), 422, "unprocessable");
  isErrorBody(t, await sendForm(hub, place, restForm(what, newUploadId(), kept)), 404, "not_found");
  t.equal(await offsetOf(hub, place, id), kept, "and still");
  isErrorBody(t, await sendForm(hub, place, restForm(what, id, kept, sha256("other"))), 409, "upload_differs");
  t.equal((await askOffset(hub, place, id)).status, 404, "dropped");
  t.equal((await sendForm(hub, place, namedForm(what, id))).status, 201, "the whole is taken");
});

t.test("who asks how far an upload came ends the request that brings it", async (t) => {
  const { hub, place } = await prepared(t);
  const what = publication("1.0.0", { size: 3 * MIB });
  const id = newUploadId();
  const path = `${place.base}/publish`;
  const { answer } = await beginUpload(hub, { key: place.key, path }, namedForm(what, id), 2 * MIB);
  await until(async () => Object.keys(await incomingFiles(hub)).length === 1);
  await sleep(100);
  const busy = await sendForm(hub, place, restForm(what, id, MIB));
  isErrorBody(t, busy, 409, "upload_busy");
  const kept = await offsetOf(hub, place, id);
  t.ok(kept > MIB);
  t.match(await answer, /^HTTP\/1\.1 409 [\s\S]*"code":"upload_busy"/);
  const rests = await Promise.all([1, 2, 3].map(() => sendForm(hub, place, restForm(what, id, kept))));
  const statuses = rests.map(({ status }) => status).toSorted();
  t.equal(statuses.filter((status) => status === 201).length, 1, `one wins: ${statuses.join(" ")}`);
  for (const { status, body } of rests) if (status !== 201) t.match(body, { code: /^(?:upload_busy|not_found)$/ });
});

t.test("a body that is too slow is kept as one whose connection is lost", async (t) => {
  const { hub, place } = await prepared(t, { arrivalLimits: { lookMs: 20, patienceMs: 60 } });
  const what = publication("1.0.0", { size: 3 * MIB });
  const id = newUploadId();
  const path = `${place.base}/publish`;
  const { answer } = await beginUpload(hub, { key: place.key, path }, namedForm(what, id), 2 * MIB);
  t.match(await answer, /^HTTP\/1\.1 408 /);
  const kept = await offsetOf(hub, place, id);
  t.equal((await sendForm(hub, place, restForm(what, id, kept))).status, 201);
});

t.test("a start and the hourly sweep leave what was kept for a day, and no longer", async (t) => {
  const dataDir = join(t.testdir(), "hub");
  const first = await startHub(t, { dataDir });
  const project = await createProject(first);
  const place = placeOf(project);
  const what = publication("1.0.0", { size: 3 * MIB });
  const [id, old] = [newUploadId(), newUploadId()];
  await cutUpload(first, place, namedForm(what, old), 2 * MIB);
  await offsetOf(first, place, old);
  const folder = join(dataDir, "blobs", "incoming");
  const [name] = await readdir(folder);
  const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000 - 1000);
  await utimes(join(folder, name!), yesterday, yesterday);
  await cutUpload(first, place, namedForm(what, id), 2 * MIB);
  const kept = await offsetOf(first, place, id);
  await first.hub.close();

  const hub = await startHub(t, { dataDir });
  await hub.hub.upkeep.run();
  t.equal((await askOffset(hub, place, old)).status, 404, "its day is over");
  t.equal(await offsetOf(hub, place, id), kept);
  t.equal((await sendForm(hub, place, restForm(what, id, kept))).status, 201, "another process goes on");
  t.strictSame(await incomingFiles(hub), {});
});
