import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { recordId } from "../../../../lib/hub/access/credentials.ts";
import { openBlobs } from "../../../../lib/hub/blobs/open.ts";
import type { Blobs } from "../../../../lib/hub/blobs/port.ts";
import { startS3 } from "../../../support/hub/s3-server.ts";

/** What the port promises, of each of its storages. */
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
    await blobs.check();
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

  t.test(`${name}: a sweep removes what has no record, and only what is old enough`, async (t) => {
    const { blobs, incoming } = await open(t);
    const known = await store(blobs, Buffer.from("known"));
    const unknown = await store(blobs, Buffer.from("unknown"));
    const left = await blobs.create();
    await left.write(Buffer.from("left behind"));
    await left.flush();
    const isKnown = async (ids: string[]) => new Set(ids.filter((id) => id === known));
    t.strictSame(await blobs.sweep(isKnown, 3_600_000), { removed: 0 });
    // S3 counts in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    t.strictSame(await blobs.sweep(isKnown, 0), { removed: 2 });
    t.equal((await read(blobs, known)).toString(), "known");
    await t.rejects(blobs.read(unknown), { code: "ENOENT" });
    t.strictSame(readdirSync(incoming), []);
    await left[Symbol.asyncDispose]();
  });
}
