import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import t, { type Test } from "tap";
import { recordId } from "../../../../lib/hub/base/identity.ts";
import { openBlobs } from "../../../../lib/hub/blobs/open.ts";
import type { Blobs } from "../../../../lib/hub/blobs/port.ts";
import { startS3 } from "../../../support/hub/s3-server.ts";
import { startWire } from "../../../support/hub/wire.ts";

/** The promises of the port, for each of its storages. */
const storages: Record<string, (t: Test) => Promise<{ blobs: Blobs; incoming: string }>> = {
  async folder(t) {
    const folder = t.testdir({});
    return { blobs: await openBlobs(folder, undefined), incoming: join(folder, "blobs", "incoming") };
  },
  async bucket(t) {
    const folder = t.testdir({ data: {}, objects: {} });
    const server = await startS3(t, join(folder, "objects"));
    return { blobs: await openBlobs(join(folder, "data"), server.url()), incoming: join(folder, "data", "incoming") };
  },
};

const newId = (): string => recordId("art", Date.now());

async function store(blobs: Blobs, bytes: Uint8Array, id = newId()): Promise<string> {
  const incoming = await blobs.create();
  for (let at = 0; at < bytes.length; at += 100_000) await incoming.write(bytes.subarray(at, at + 100_000));
  await incoming.flush();
  await incoming.commit(id);
  return id;
}

const read = async (blobs: Blobs, id: string, range?: { start: number; end: number }): Promise<Buffer> =>
  Buffer.concat(await (await blobs.read(id, range)).toArray());

for (const [name, open] of Object.entries(storages)) {
  t.test(`${name}: what is committed is read back, whole and in ranges`, async (t) => {
    const { blobs, incoming } = await open(t);
    // The last one takes several parts.
    for (const size of [1, 100_000, 20 * 1024 * 1024 + 17]) {
      const bytes = randomBytes(size);
      const id = await store(blobs, bytes);
      t.ok(bytes.equals(await read(blobs, id)), `${size} bytes`);
      const [start, end] = [Math.floor(size / 3), Math.floor(size / 2)];
      t.ok(bytes.subarray(start, end + 1).equals(await read(blobs, id, { start, end })), `${start} to ${end}`);
    }
    t.strictSame(readdirSync(incoming), [], "nothing is left of what was arriving");
    await blobs.check(AbortSignal.timeout(5000));
  });

  t.test(`${name}: an id that would leave the storage is not a blob's`, async (t) => {
    const { blobs } = await open(t);
    for (const id of ["../../../etc/passwd", "trash/x", "..", "sealift-database", `art_${"0".repeat(31)}/`, ""]) {
      const uses: Promise<unknown>[] = [blobs.size(id), blobs.read(id), blobs.remove(id), blobs.moveToTrash(id)];
      for (const use of uses) await t.rejects(use as Promise<void>, { code: "ENOENT" }, id);
      const incoming = await blobs.create();
      await incoming.write(Buffer.from("x"));
      await incoming.flush();
      await t.rejects(incoming.commit(id), id);
      await incoming[Symbol.asyncDispose]();
    }
  });

  t.test(`${name}: before its commit a blob is not there; discarded, it never is`, async (t) => {
    const { blobs, incoming } = await open(t);
    const blob = await blobs.create();
    await blob.write(Buffer.from("some bytes"));
    await blob.flush();
    const back: Uint8Array[] = [];
    for await (const chunk of blob.readBack()) back.push(Uint8Array.from(chunk));
    t.equal(Buffer.concat(back).toString(), "some bytes");
    t.equal(blob.size, 10);
    const id = newId();
    await t.rejects(blobs.read(id), { code: "ENOENT" });
    await blob[Symbol.asyncDispose]();
    t.strictSame(readdirSync(incoming), []);
  });

  t.test(`${name}: who stops reading ends it, and others go on`, async (t) => {
    const { blobs } = await open(t);
    const bytes = randomBytes(8 * 1024 * 1024);
    const id = await store(blobs, bytes);
    const half = await blobs.read(id);
    for await (const _chunk of half) break;
    t.ok(half.destroyed);
    t.ok(bytes.equals(await read(blobs, id)));
  });

  t.test(`${name}: removing is final, and may be done twice`, async (t) => {
    const { blobs } = await open(t);
    const id = await store(blobs, Buffer.from("x"));
    await blobs.remove(id);
    await t.rejects(blobs.read(id), { code: "ENOENT" });
    await blobs.remove(id);
  });

  t.test(`${name}: what is in the trash is out of the list, comes back whole, or goes for good`, async (t) => {
    const { blobs } = await open(t);
    const warned = t.capture(console, "warn");
    const [kept, gone] = [await store(blobs, Buffer.from("kept")), await store(blobs, Buffer.from("gone"))];
    const ids = async (entries: AsyncIterable<{ id: string }>) =>
      (await Array.fromAsync(entries, ({ id }) => id)).toSorted();
    t.strictSame(await ids(blobs.list()), [kept, gone].toSorted());
    const before = Date.now();
    for (const id of [kept, gone]) await blobs.moveToTrash(id);
    t.strictSame(await ids(blobs.listTrash()), [kept, gone].toSorted());
    // S3 counts in seconds.
    for await (const { since } of blobs.listTrash()) t.ok(since >= before - 1000);
    await blobs.takeBack(kept);
    await blobs.removeFromTrash(gone);
    t.equal((await read(blobs, kept)).toString(), "kept");
    t.equal(await blobs.size(kept), 4);
    await t.rejects(blobs.read(gone), { code: "ENOENT" });
    t.equal(await blobs.size(gone), undefined);
    t.strictSame(await ids(blobs.listTrash()), []);
    t.strictSame(await ids(blobs.list()), [kept]);
    t.strictSame(warned(), [], "the SDK has nothing to say beside the log");
  });

  t.test(`${name}: uploads that nobody finishes go, those that go on stay`, async (t) => {
    const { blobs, incoming } = await open(t);
    writeFileSync(join(incoming, "left.part"), "by a crash");
    await using arriving = await blobs.create();
    await arriving.write(Buffer.from("some bytes"));
    t.equal(await blobs.clearIncoming(3_600_000), 0, "another hub may be writing it");
    t.equal(await blobs.clearIncoming(0), 1);
    t.strictSame(
      readdirSync(incoming).map((file) => join(incoming, file)),
      [arriving.path],
    );
  });

  t.test(`${name}: of several databases that claim it at once one gets it`, async (t) => {
    const { blobs } = await open(t);
    t.equal(await blobs.owner(), undefined);
    const owners = await Promise.all(["a", "b", "c"].map((database) => blobs.claim(database)));
    t.equal(new Set(owners).size, 1);
    t.equal(await blobs.owner(), owners[0]);
  });
}

t.test("folder: a reader who is gone before the first chunk leaves no open file", async (t) => {
  const { blobs } = await storages["folder"]!(t);
  const id = await store(blobs, randomBytes(1000));
  const files = (): string[] =>
    readdirSync("/proc/self/fd").flatMap((name) => {
      try {
        const path = readlinkSync(`/proc/self/fd/${name}`);
        return path.endsWith(id) ? [path] : [];
      } catch {
        // That of the folder itself is closed again.
        return [];
      }
    });
  const stream = await blobs.read(id);
  t.equal(files().length, 1);
  stream.destroy();
  await once(stream, "close");
  // An open file that is garbage ends the process in Node.js 26.
  for (const end = Date.now() + 10_000; files().length > 0 && Date.now() < end;) await pause(20);
  t.strictSame(files(), []);
});

t.test("bucket: uploads that are given up at once leave no file that somebody still opens", async (t) => {
  const { blobs, incoming } = await storages["bucket"]!(t);
  const isKept = async (): Promise<boolean> => {
    await using blob = await blobs.create();
    await blob.write(Buffer.from("x"));
    await blob.flush();
    return await blob.commit("..").then(
      () => true,
      () => false,
    );
  };
  // An open file and its removal meet seldom.
  for (let round = 0; round < 200; round++) {
    const kept = await Promise.all(Array.from({ length: 8 }, isKept));
    if (kept.includes(true)) t.fail("a blob without an id was kept");
  }
  t.strictSame(readdirSync(incoming), []);
});

t.test("bucket: closing ends the calls that wait for a silent storage, and repeats none", async (t) => {
  const folder = t.testdir({ data: {}, objects: {} });
  const server = await startS3(t, join(folder, "objects"));
  const { port } = new URL(server.endpoint);
  const wire = await startWire(t, Number(port));
  const blobs = await openBlobs(join(folder, "data"), server.url().replace(port, String(wire.port)));
  const heard = Promise.withResolvers<void>();
  wire.losesAnswer = () => {
    wire.mode = "silent";
    heard.resolve();
    return false;
  };
  const stored = store(blobs, randomBytes(1000)).catch((error: unknown) => error);
  await heard.promise;
  blobs.close!();
  t.match(await stored, { trouble: "away", message: /the hub is closing/ });
  await t.rejects(blobs.size(newId()), { message: /the hub is closing/ });
});
