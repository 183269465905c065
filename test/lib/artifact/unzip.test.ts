import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { unzip, type UnzipOptions } from "../../../lib/artifact/unzip.ts";
import { scanZip, type ZipIndex } from "../../../lib/artifact/zip.ts";
import { treeDigest } from "../../support/forged-artifact.ts";
import { type ForgedEntry, forgedZip } from "../../support/forged-zip.ts";

interface Scanned {
  file: string;
  folder: string;
  index: ZipIndex;
  unpack: (options?: Partial<UnzipOptions>) => ReturnType<typeof unzip>;
}

async function scanned(t: Test, entries: readonly ForgedEntry[]): Promise<Scanned> {
  const parent = t.testdir({});
  const [file, folder] = [join(parent, "archive.zip"), join(parent, "tree")];
  mkdirSync(folder);
  writeFileSync(file, forgedZip(entries));
  const index = await scanZip(file, { limits: DEFAULT_LIMITS, symlinks: "refuse" });
  return {
    file,
    folder,
    index,
    unpack: (options) => unzip(file, index, folder, { limits: DEFAULT_LIMITS, ...options }),
  };
}

const MIB = 1024 * 1024;

t.test("files, folders, modes and the digest of the tree, below the top folder", async (t) => {
  const large = Buffer.concat([randomBytes(2 * MIB), Buffer.alloc(MIB)]);
  const contents = { "a/b": "2\n", "a-b/c": "1\n", "large-0": large, "large-8": large, empty: "", "日本/x": "é" };
  const { folder, unpack } = await scanned(t, [
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
  t.equal(result.files, 6);
  t.equal(
    result.bytes,
    Object.values(contents).reduce((sum, content) => sum + Buffer.byteLength(content), 0),
  );
  t.equal(result.tree.digest(), treeDigest(new Map(Object.entries(contents))));
});

t.test("progress counts up to all bytes, and others get their turn", async (t) => {
  const entries = Array.from({ length: 20 }, (_, index) => ({ name: `${index}`, content: Buffer.alloc(MIB, index) }));
  const { unpack } = await scanned(t, entries);
  const seen: number[] = [];
  let turns = 0;
  const ticking = setInterval(() => turns++, 0);
  await unpack({ onUnpacked: (bytes) => seen.push(bytes) });
  clearInterval(ticking);
  t.equal(seen.at(-1), 20 * MIB);
  t.ok(seen.length >= 4 && seen.every((bytes, index) => index === 0 || bytes >= seen[index - 1]!), seen.join());
  t.ok(turns > 0);
});

t.test("an abort ends it between files and within a large one", async (t) => {
  const many = await scanned(
    t,
    Array.from({ length: 20 }, (_, index) => ({ name: `${index}`, content: Buffer.alloc(MIB) })),
  );
  const controller = new AbortController();
  await t.rejects(many.unpack({ signal: controller.signal, onUnpacked: () => controller.abort() }), {
    name: "AbortError",
  });
  t.ok(readdirSync(many.folder).length < 20);
  const one = await scanned(t, [{ name: "large", content: randomBytes(4 * MIB), method: 8 }]);
  await t.rejects(one.unpack({ signal: AbortSignal.abort() }), { name: "AbortError" });
});

t.test("limits count what comes out", async (t) => {
  const { unpack, folder } = await scanned(t, [{ name: "a", content: "12345" }]);
  await t.rejects(unpack({ limits: { ...DEFAULT_LIMITS, maxEntryBytes: 4 } }), { code: "limit_exceeded" });
  t.strictSame(readdirSync(folder), []);
});

t.test("an archive that changes after its scan is refused, never followed", async (t) => {
  for (const size of [1000, 3 * MIB]) {
    const content = randomBytes(size);
    for (const method of [0, 8]) {
      const { file, index, unpack } = await scanned(t, [{ name: "data.bin", content, method }]);
      truncateSync(file, index.files[0]!.dataOffset + (size >> 1));
      const refused = { kind: "ArtifactError", code: "zip_invalid", message: /"data\.bin"/ };
      await t.rejects(unpack(), refused, `${size} bytes, method ${method}`);
    }
  }
});
