import { hash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { scanZip, type ZipIndex } from "../../../../lib/artifact/zip/directory.ts";
import { unzip, type UnzipOptions, type Unzipped } from "../../../../lib/artifact/zip/unzip.ts";
import { batchesOf, BatchQueue, type UnzipJob } from "../../../../lib/artifact/zip/unzip-batches.ts";
import { UnzipThread } from "../../../../lib/artifact/zip/unzip-thread.ts";
import { treeDigest } from "../../../support/forged/artifact.ts";
import { type ForgedEntry, forgedZip } from "../../../support/forged/zip.ts";

const COUNT = 2500;

/** More small files than one thread is asked to unpack alone. */
const manyFiles = (change?: (index: number) => Partial<ForgedEntry>): ForgedEntry[] =>
  Array.from({ length: COUNT }, (_, index) => ({
    name: `top/d${index % 20}/f${index}`,
    content: `content of ${index} `.repeat(index % 60),
    method: index % 3 === 0 ? 0 : 8,
    mode: index % 5 === 0 ? 0o100755 : 0o100644,
    ...change?.(index),
  }));

async function scanned(t: Test, entries: readonly ForgedEntry[]): Promise<{ job: UnzipJob; index: ZipIndex }> {
  const parent = t.testdir({});
  const [path, folder] = [join(parent, "archive.zip"), join(parent, "tree")];
  for (let index = 0; index < 20; index++) mkdirSync(join(folder, `d${index}`), { recursive: true });
  writeFileSync(path, forgedZip(entries));
  const index = await scanZip(path, SCAN);
  const members = index.files;
  return { job: { path, folder, members, files: members.filesWithin("top"), batches: batchesOf(members) }, index };
}

const SCAN = { limits: DEFAULT_LIMITS, symlinks: "refuse" } as const;

/** Unpacks with both threads, below a folder that is still empty. */
function unpack({ path, folder }: UnzipJob, options: Partial<UnzipOptions> = {}): Promise<Unzipped> {
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  return unzip(path, folder, { ...SCAN, thread: new UnzipThread(), ...options });
}

/** Scans an archive with a second thread, which then takes batches of it. */
async function helped(job: UnzipJob, queue: BatchQueue): Promise<UnzipThread> {
  const thread = new UnzipThread();
  const { files } = await thread.scan(job.path, SCAN);
  job.members = files;
  job.files = files.filesWithin("top");
  thread.help(job, queue);
  return thread;
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

const BAD = { kind: "ArtifactError", code: "zip_invalid", message: /"top\/d1\/f2401"/ };
const withBadCrc = () => manyFiles((index) => (index === 2401 ? { declared: { crc: 1 } } : {}));

t.test("many small files are unpacked by two threads, each once", async (t) => {
  const entries = manyFiles();
  const { job, index } = await scanned(t, entries);
  const seen: number[] = [];
  const result = await unpack(job, { onUnpacked: (bytes) => seen.push(bytes) });
  const contents = new Map(entries.map(({ name, content }) => [String(name).slice(4), content as string]));
  t.equal(result.files.length, COUNT);
  t.equal(result.files.digest(), treeDigest(contents));
  t.equal(result.bytes, index.bytes);
  t.equal(seen.at(-1), index.bytes);
  for (const [name, content] of contents) if (readFileSync(join(job.folder, name), "utf8") !== content) t.fail(name);
});

t.test("a queue that was emptied is told from one that was closed", async (t) => {
  const batches = [[0, 1]] as const;
  const emptied = new BatchQueue(batches);
  t.ok(emptied.take());
  t.equal(emptied.take(), undefined);
  t.notOk(emptied.closed);
  const closed = new BatchQueue(batches);
  new BatchQueue(batches, closed.shared).close();
  t.equal(closed.take(), undefined);
  t.ok(closed.closed, "also by the other thread");
});

t.test("the second thread takes batches, and says what became of them", async (t) => {
  const { job, index } = await scanned(t, manyFiles());
  const queue = new BatchQueue(job.batches);
  const first = queue.take()!;
  await using helper = await helped(job, queue);
  await helper.end();
  t.equal(filesBelow(job.folder).length, COUNT - first[1]);
  for (const [at, { size, sha256, path }] of [...job.files].entries()) {
    if (at < first[1]) continue;
    const content = readFileSync(join(job.folder, path));
    t.same([size, sha256], [content.length, hash("sha256", content)], path);
  }
  const left = [...index.files].slice(...first).reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0);
  t.equal(queue.helperBytes, index.bytes - left);
});

t.test("what is wrong on the second thread is the same error, and ends the first one's work", async (t) => {
  const { job } = await scanned(t, withBadCrc());
  const queue = new BatchQueue(job.batches);
  await using helper = await helped(job, queue);
  await t.rejects(helper.end(), BAD);
  t.throws(() => helper.check(), BAD);
  t.equal(queue.take(), undefined);
});

t.test("the second thread finds what is wrong with an archive as a whole, as the first one does", async (t) => {
  const { job } = await scanned(t, manyFiles());
  const bad = join(dirname(job.path), "bad.zip");
  writeFileSync(bad, forgedZip([{ name: "a" }, { name: "../b" }]));
  const refused = { kind: "ArtifactError", code: "member_unsafe", message: /"\.\.\/b"/ };
  await t.rejects(unpack({ ...job, path: bad }), refused);
  t.strictSame(readdirSync(job.folder), []);
  await t.rejects(unzip(bad, job.folder, SCAN), refused);
});

t.test("a scan by the second thread can be aborted, and nothing is left of it", async (t) => {
  const { job } = await scanned(t, manyFiles());
  const controller = new AbortController();
  const unpacking = unpack(job, { signal: controller.signal });
  controller.abort();
  await t.rejects(unpacking, { name: "AbortError" });
  t.strictSame(readdirSync(job.folder), []);
});

t.test("a thread that nothing is asked of ends with its owner", async (t) => {
  const thread = new UnzipThread();
  await thread[Symbol.asyncDispose]();
  await thread[Symbol.asyncDispose]();
  t.throws(() => thread.check(), { code: "internal" });
});

t.test("after an error nobody writes any more", async (t) => {
  const { job } = await scanned(t, withBadCrc());
  await t.rejects(unpack(job), BAD);
  const left = filesBelow(job.folder).length;
  await sleep(200);
  t.equal(filesBelow(job.folder).length, left);
});

t.test("after an abort nobody writes any more", async (t) => {
  const { job } = await scanned(t, manyFiles());
  const controller = new AbortController();
  await t.rejects(unpack(job, { signal: controller.signal, onUnpacked: () => controller.abort() }), {
    name: "AbortError",
  });
  const left = filesBelow(job.folder).length;
  t.ok(left < COUNT, `${left} files`);
  await sleep(200);
  t.equal(filesBelow(job.folder).length, left);
});
