import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { ArtifactThread } from "../../../../lib/artifact/thread/artifact-thread.ts";
import { unzip, unzipOn } from "../../../../lib/artifact/zip/unzip.ts";
import { type ForgedEntry, forgedZip } from "../../../support/forged/zip.ts";

const COUNT = 2500;
const SCAN = { limits: DEFAULT_LIMITS, symlinks: "skip" } as const;
const MIB = 1024 * 1024;

const manyFiles = (change?: (index: number) => Partial<ForgedEntry>): ForgedEntry[] => [
  { name: "top/link", content: "target", mode: 0o120777 },
  { name: "top/large", content: Buffer.alloc(3 * MIB, "large"), method: 8 },
  ...Array.from({ length: COUNT }, (_, index) => ({
    name: `top/d${index % 20}/f${index}`,
    content: `content of ${index} `.repeat(index % 60),
    method: index % 3 === 0 ? 0 : 8,
    mode: index % 5 === 0 ? 0o100755 : 0o100644,
    ...change?.(index),
  })),
];

function archived(t: Test, entries: readonly ForgedEntry[]) {
  const parent = t.testdir({});
  const [path, folder] = [join(parent, "archive.zip"), join(parent, "tree")];
  mkdirSync(folder);
  writeFileSync(path, forgedZip(entries));
  return { path, folder, parent };
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

t.test("another thread unpacks what this one would, and tells what it skips and how far it is", async (t) => {
  const { path, folder, parent } = archived(t, manyFiles());
  await using thread = new ArtifactThread();
  const scans: string[][] = [];
  const told: number[] = [];
  const { files, bytes } = await unzipOn(thread, path, folder, {
    ...SCAN,
    onScanned: ({ skippedLinks }) => scans.push(skippedLinks),
    onUnpacked: (written) => told.push(written),
  });
  t.strictSame(scans, [["top/link"]]);
  t.equal(told.at(-1), bytes);
  t.ok(told.length > 2 && told.every((written, at) => at === 0 || written >= told[at - 1]!), String(told));
  const here = join(parent, "here");
  mkdirSync(here);
  const same = await unzip(path, here, SCAN);
  const facts = (listed: typeof files) => [...listed].map(({ mtimeMs: _, ...file }) => file);
  t.strictSame(facts(files), facts(same.files));
  t.strictSame([files.digest(), bytes], [same.files.digest(), same.bytes]);
  for (const file of files)
    if (!readFileSync(join(folder, file.path)).equals(readFileSync(join(here, file.path)))) t.fail();
});

t.test("a fault is the same error on both threads", async (t) => {
  const bad = { kind: "ArtifactError", code: "zip_invalid", message: /"top\/d1\/f2401"/ };
  const { path, folder, parent } = archived(
    t,
    manyFiles((index) => (index === 2401 ? { declared: { crc: 1 } } : {})),
  );
  await using thread = new ArtifactThread();
  await t.rejects(unzipOn(thread, path, folder, SCAN), bad);
  const unsafe = join(parent, "unsafe.zip");
  const empty = join(parent, "empty");
  writeFileSync(unsafe, forgedZip([{ name: "a" }, { name: "../b" }]));
  mkdirSync(empty);
  await t.rejects(unzipOn(thread, unsafe, empty, SCAN), { kind: "ArtifactError", code: "member_unsafe" });
  t.strictSame(readdirSync(empty), [], "nothing was unpacked");
});

t.test("after an abort nobody writes once the thread is gone", async (t) => {
  const { path, folder } = archived(t, manyFiles());
  const controller = new AbortController();
  {
    await using thread = new ArtifactThread();
    const options = { ...SCAN, signal: controller.signal, onScanned: () => controller.abort() };
    await t.rejects(unzipOn(thread, path, folder, options), { name: "AbortError" });
    await t.rejects(unzipOn(thread, path, folder, options), { name: "AbortError" }, "nor is more begun");
  }
  const left = filesBelow(folder).length;
  t.ok(left < COUNT, `${left} files`);
  await sleep(200);
  t.equal(filesBelow(folder).length, left);
});

t.test("a thread that has ended says so to whoever asks, also to those who wait", async (t) => {
  const { path, folder } = archived(t, manyFiles());
  const thread = new ArtifactThread();
  const unpacking = unzipOn(thread, path, folder, SCAN);
  await Promise.all([t.rejects(unpacking, { code: "internal" }), thread[Symbol.asyncDispose]()]);
  await t.rejects(unzipOn(thread, path, folder, SCAN), { code: "internal" });
  await thread[Symbol.asyncDispose]();
});
