import { randomBytes } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { openIndex, writeIndex } from "../../../lib/artifact/delta/index-file.ts";
import type { TreeEntry } from "../../../lib/artifact/tree/tree-listing.ts";
import { PROJECT, SEED } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const TREE = { projectId: PROJECT, version: "1.0.0", contentSha256: "0".repeat(64) };
const FILE: TreeEntry = { type: "file", path: "b", executable: false, size: 1, sha256: "1".repeat(64) };
const EXPECTED = { projectId: PROJECT, version: "1.0.0" };

t.test("an index that another signer sealed, that was changed or is of another version is refused", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "index");
  await writeIndex(file, TREE, [FILE], SEED);
  const plain = (): string => join(folder, randomBytes(6).toString("hex"));
  t.ok(await openIndex(file, plain(), SEED, EXPECTED), "its own signer opens it");
  await t.rejects(openIndex(file, plain(), randomBytes(32), EXPECTED), { code: "index_invalid" });
  await t.rejects(openIndex(file, plain(), SEED, { ...EXPECTED, version: "1.0.1" }), { code: "index_invalid" });
  const bytes = readFileSync(file);
  for (const at of [0, 12, 40, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    writeFileSync(join(folder, "changed"), changed);
    await t.rejects(openIndex(join(folder, "changed"), plain(), SEED, EXPECTED), { code: "index_invalid" });
  }
  for (const length of [0, 5, 27, 28, 29, bytes.length - 1]) {
    writeFileSync(join(folder, "cut"), bytes.subarray(0, length));
    await t.rejects(openIndex(join(folder, "cut"), plain(), SEED, EXPECTED), { code: "index_invalid" });
  }
});

t.test("an index that is not sorted or whose chunks do not add up is refused while it is read", async (t) => {
  const folder = temporaryFolder(t);
  const { ChunkList } = await import("../../../lib/artifact/tree/chunks.ts");
  const chunks = new ChunkList();
  chunks.push(5, randomBytes(16));
  const lists: Record<string, TreeEntry[]> = {
    unsorted: [FILE, { ...FILE, path: "a" }],
    twice: [FILE, FILE],
    "chunks of another length": [{ ...FILE, chunks }],
  };
  for (const [what, entries] of Object.entries(lists)) {
    const file = join(folder, what);
    await writeIndex(file, TREE, entries, SEED);
    const { entries: read } = await openIndex(file, `${file}.plain`, SEED, EXPECTED);
    await t.rejects(Array.fromAsync(read()), { code: "index_invalid" }, what);
  }
});

t.test("an index of more entries, chunks or bytes than a tree may have is refused while it is read", async (t) => {
  const folder = temporaryFolder(t);
  const { ChunkList } = await import("../../../lib/artifact/tree/chunks.ts");
  const chunks = new ChunkList();
  for (let count = 0; count < 10_000; count++) chunks.push(1, randomBytes(16));
  const empty = Array.from({ length: 10 }, (_, index): TreeEntry => ({ ...FILE, path: String(index), size: 0 }));
  const lists: Record<string, TreeEntry[]> = { entries: empty, chunks: [{ ...FILE, size: 10_000, chunks }] };
  for (const [what, entries] of Object.entries(lists)) {
    const file = join(folder, what);
    await writeIndex(file, TREE, entries, SEED);
    const { entries: read } = await openIndex(file, `${file}.plain`, SEED, EXPECTED, { maxEntries: 9 });
    await t.rejects(Array.fromAsync(read()), { code: "index_invalid", message: /more/ }, what);
  }
  const bomb = join(folder, "bytes");
  const long: TreeEntry = { type: "folder", path: "x".repeat(40_000) };
  await writeIndex(
    bomb,
    TREE,
    Array.from({ length: 1000 }, () => long),
    SEED,
  );
  t.ok(statSync(bomb).size < 10_000);
  const opened = openIndex(bomb, `${bomb}.plain`, SEED, EXPECTED);
  await t.rejects(opened, { code: "index_invalid", message: /unpacks to more/ });
});
