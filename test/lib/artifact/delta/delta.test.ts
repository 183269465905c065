// Only in test:all: trees of every form, 5 s of a processor.
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { compareTrees } from "../../../../lib/artifact/delta/compare-trees.ts";
import type { FileEntry } from "../../../../lib/artifact/tree/file-table.ts";
import { rounds } from "../../../support/effort.ts";
import {
  baseOf,
  complete,
  deltaBetween,
  reopenIndex,
  type Tree,
  unpackFull,
  writeVersion,
} from "../../../support/forged/delta-trees.ts";
import { snapshot } from "../../../support/host/attacked-host.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

/**
 * Publishes two trees and compares what the delta makes of the first with what the full artifact of the second holds.
 */
async function upgrade(folder: string, before: Tree, after: Tree) {
  const from = await writeVersion(join(folder, "a"), "1.0.0", before);
  const to = await writeVersion(join(folder, "b"), "1.1.0", after);
  const delta = await deltaBetween(folder, from, to);
  const base = baseOf(from, await unpackFull(folder, from));
  const completed = await complete(folder, delta, base, "1.1.0");
  const changes = await compareTrees((await reopenIndex(join(folder, "b"), from)).entries, to.entries);
  return { delta, changes, completed: snapshot(completed), full: snapshot(await unpackFull(folder, to)) };
}

t.test("a completed tree is the full artifact's tree, to the last byte, whatever changed", async (t) => {
  // The same bytes each time: where the chunks of random ones end is left to chance, and so would be the sizes below.
  const large = createHash("shake256", { outputLength: 400_000 }).update("a large file").digest();
  const before: Tree = {
    files: {
      "plugins/demo/kept.txt": "kept",
      "plugins/demo/edited.txt": "one",
      "plugins/demo/gone.txt": "gone",
      "plugins/demo/moved-from.txt": "moved as it is",
      "plugins/demo/large.bin": large,
      "plugins/demo/file-then-folder": "a file",
      "plugins/demo/folder-then-file/inside.txt": "inside",
      "plugins/demo/empty-folder": null,
      "plugins/demo/folder-then-nothing": null,
      "plugins/demo/run.sh": "#!/bin/sh\n",
      "plugins/demo/empty.txt": "",
    },
    executable: ["plugins/demo/run.sh"],
  };
  const edited = Buffer.concat([large.subarray(0, 100_000), Buffer.from("more"), large.subarray(100_000, 390_000)]);
  const after: Tree = {
    files: {
      "plugins/demo/kept.txt": "kept",
      "plugins/demo/edited.txt": "two!",
      "plugins/demo/moved-to.txt": "moved as it is",
      "plugins/demo/large.bin": edited,
      "plugins/demo/file-then-folder/inside.txt": "inside",
      "plugins/demo/folder-then-file": "a file",
      "plugins/demo/empty-folder": null,
      "plugins/demo/new-folder": null,
      "plugins/demo/run.sh": "#!/bin/sh\n",
      "plugins/demo/also-empty.txt": "",
      "plugins/demo/empty.txt": "",
    },
    executable: ["plugins/demo/edited.txt"],
  };
  const { changes, completed, full, delta } = await upgrade(temporaryFolder(t), before, after);
  t.strictSame(completed, full);
  t.ok(
    changes.newBytes < 140_000,
    `an insertion into a large file sends the chunks around it, not ${changes.newBytes}`,
  );
  t.ok(delta.size < 140_000);
  const put = changes.changes.find((change) => "file" in change && change.file.entry.path.endsWith("moved-to.txt"));
  t.match(put, { file: { base: "plugins/demo/moved-from.txt" } }, "what was renamed is copied");
});

t.test("the same tree again is a delta of no change", async (t) => {
  const tree: Tree = { files: { "plugins/demo/a.txt": "a" } };
  const { changes, completed, full } = await upgrade(temporaryFolder(t), tree, tree);
  t.strictSame(completed, full);
  t.strictSame(changes, { changes: [], newBytes: 0 });
});

t.test("a base is read again only where a new file may be one of its files of another name", async (t) => {
  const file = (path: string, sha256: string): FileEntry => ({
    type: "file",
    path,
    executable: false,
    size: 1,
    sha256,
  });
  const known = "0123456789ab".padEnd(64, "c");
  const compared = async (sha256: string) => {
    let reads = 0;
    const base = async function* () {
      reads++;
      yield await Promise.resolve([file("old", known)]);
    };
    const { changes } = await compareTrees(base, [file("new", sha256)]);
    return { reads, base: changes.flatMap((change) => ("file" in change ? [change.file.base] : [])) };
  };
  t.strictSame(await compared("f".repeat(64)), { reads: 1, base: [undefined] });
  t.strictSame(await compared(known), { reads: 2, base: ["old"] });
  const alike = "0123456789ab".padEnd(64, "d");
  t.strictSame(await compared(alike), { reads: 2, base: [undefined] }, "the whole digest decides");
});

t.test("random pairs of trees: the delta never makes another tree than the full artifact", async (t) => {
  const shared = [randomBytes(90_000), randomBytes(150_000), Buffer.alloc(200_000)];
  const content = fc.oneof(
    { weight: 4, arbitrary: fc.string({ maxLength: 20 }) },
    { weight: 1, arbitrary: fc.constant(null) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.nat(2), fc.nat(89_999), fc.nat(300), fc.nat(40))
        .map(([which, at, cut, added]) =>
          Buffer.concat([shared[which]!.subarray(0, at), Buffer.alloc(added, 7), shared[which]!.subarray(at + cut)]),
        ),
    },
  );
  const name = fc.constantFrom("a", "b", "c", "\u00e9", "\u{1f600}", "\uff5e");
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => `plugins/demo/${parts.join("/")}`);
  const tree = fc
    .tuple(fc.dictionary(path, content, { maxKeys: 8 }), fc.array(path, { maxLength: 3 }))
    .map(([files, executable]): Tree => ({ files: withoutConflicts(files), executable }));
  let round = 0;
  const folder = temporaryFolder(t);
  await fc.assert(
    fc.asyncProperty(tree, tree, async (before, after) => {
      const own = join(folder, String(round++));
      mkdirSync(own);
      const { completed, full } = await upgrade(own, before, after);
      rmSync(own, { recursive: true });
      t.strictSame(completed, full);
    }),
    { numRuns: rounds(8, 200) },
  );
});

/** A file that another path needs as a folder gives way. */
function withoutConflicts(files: Tree["files"]): Tree["files"] {
  const paths = Object.keys(files);
  return Object.fromEntries(
    Object.entries(files).filter(([path]) => !paths.some((other) => other.startsWith(`${path}/`))),
  );
}

t.test("two thousand files of which one in a hundred changed make a delta of about one in a hundred", async (t) => {
  const folder = temporaryFolder(t);
  const files = Object.fromEntries(
    Array.from({ length: 2000 }, (_, index) => [`plugins/demo/f/${index % 40}/${index}.bin`, randomBytes(1500)]),
  );
  const edited = { ...files };
  for (let index = 0; index < 2000; index += 100)
    edited[`plugins/demo/f/${index % 40}/${index}.bin`] = randomBytes(1500);
  const { delta, completed, full } = await upgrade(folder, { files }, { files: edited });
  t.strictSame(completed, full);
  const artifact = statSync(join(folder, "full-1.1.0.xdeploy")).size;
  t.ok(delta.size < artifact * 0.03, `${delta.size} of ${artifact} bytes`);
});
