import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import type { ZipIndex } from "../../../../lib/artifact/zip/directory.ts";
import { unzip, type UnzipOptions, type Unzipped } from "../../../../lib/artifact/zip/unzip.ts";
import { treeDigest } from "../../../support/forged/artifact.ts";
import { type ForgedEntry, forgedZip } from "../../../support/forged/zip.ts";

interface Archived {
  file: string;
  folder: string;
  unpack: (options?: Partial<UnzipOptions>) => Promise<Unzipped>;
}

function archived(t: Test, entries: readonly ForgedEntry[]): Archived {
  const parent = t.testdir({});
  const [file, folder] = [join(parent, "archive.zip"), join(parent, "tree")];
  mkdirSync(folder);
  writeFileSync(file, forgedZip(entries));
  const always = { limits: DEFAULT_LIMITS, symlinks: "refuse" } as const;
  return { file, folder, unpack: (options) => unzip(file, folder, { ...always, ...options }) };
}

const MIB = 1024 * 1024;

t.test("files, folders, modes and the digest of the tree, below the top folder", async (t) => {
  const large = Buffer.concat([randomBytes(2 * MIB), Buffer.alloc(MIB)]);
  const contents = { "a/b": "2\n", "a-b/c": "1\n", "large-0": large, "large-8": large, empty: "", "日本/x": "é" };
  const { folder, unpack } = archived(t, [
    { name: "top/empty-folder/" },
    ...Object.entries(contents).map(([name, content]) => ({
      name: `top/${name}`,
      content,
      method: name === "large-0" ? 0 : 8,
      mode: name === "a/b" ? 0o100755 : 0o100644,
    })),
  ]);
  const result = await unpack();
  for (const [name, content] of Object.entries(contents))
    t.same(readFileSync(join(folder, name)), Buffer.from(content), name);
  t.equal(statSync(join(folder, "a/b")).mode & 0o777, 0o755);
  t.equal(statSync(join(folder, "a-b/c")).mode & 0o777, 0o644);
  t.strictSame(readdirSync(join(folder, "empty-folder")), []);
  t.equal(result.files.length, 6);
  for (const { path, size, executable, mtimeMs } of result.files) {
    const stats = statSync(join(folder, path));
    t.same([size, executable], [stats.size, (stats.mode & 0o100) !== 0], path);
    if (mtimeMs !== undefined) t.equal(mtimeMs, stats.mtimeMs, path);
  }
  t.ok(Iterator.from(result.files).some(({ mtimeMs }) => mtimeMs !== undefined));
  t.equal(
    result.bytes,
    Object.values(contents).reduce((sum, content) => sum + Buffer.byteLength(content), 0),
  );
  t.equal(result.files.digest(), treeDigest(new Map(Object.entries(contents))));
});

t.test("progress counts up to all bytes", async (t) => {
  const entries = Array.from({ length: 20 }, (_, index) => ({ name: `${index}`, content: Buffer.alloc(MIB, index) }));
  const { unpack } = archived(t, entries);
  const seen: number[] = [];
  await unpack({ onUnpacked: (bytes) => seen.push(bytes) });
  t.equal(seen.at(-1), 20 * MIB);
  t.ok(seen.length >= 4 && seen.every((bytes, index) => index === 0 || bytes >= seen[index - 1]!), seen.join());
});

t.test("nothing is unpacked before every check of the archive has passed", async (t) => {
  const { unpack, folder } = archived(t, [{ name: "a", content: "12345" }, { name: "b" }]);
  let scans = 0;
  const onScanned = ({ files }: ZipIndex): void => {
    scans++;
    t.equal(files.length, 2);
    t.strictSame(readdirSync(folder), []);
  };
  const limits = { ...DEFAULT_LIMITS, maxEntryBytes: 4 };
  await t.rejects(unpack({ limits, onScanned }), { code: "limit_exceeded", message: /"a"/ });
  t.equal(scans, 0);
  t.strictSame(readdirSync(folder), []);
  await unpack({ onScanned });
  t.equal(scans, 1);
});

t.test("an archive that changes after its scan is refused, never followed", async (t) => {
  for (const size of [1000, 3 * MIB]) {
    const content = randomBytes(size);
    for (const method of [0, 8]) {
      const { file, unpack } = archived(t, [{ name: "data.bin", content, method }]);
      const onScanned = ({ files }: ZipIndex): void => truncateSync(file, files.at(0).dataOffset + (size >> 1));
      const refused = { kind: "ArtifactError", code: "zip_invalid", message: /"data\.bin"/ };
      await t.rejects(unpack({ onScanned }), refused, `${size} bytes, method ${method}`);
    }
  }
});
