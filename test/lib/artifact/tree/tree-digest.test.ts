import { createHash } from "node:crypto";
import fc from "fast-check";
import t from "tap";
import { comparePaths } from "../../../../lib/artifact/tree/compare-paths.ts";
import { FileTable } from "../../../../lib/artifact/tree/file-table.ts";
import { treeDigest } from "../../../support/forged/artifact.ts";

/** Tree T of docs/contract/vectors.md. */
const T: Record<string, string> = {
  "a/b": "2\n",
  "a-b/c": "1\n",
  "plugin.yaml": "name: demo\nversion: 1.0.0\nexecution_mode: trusted\n",
  "manifest.json": "{}",
  "src/main.py": 'print("x")\n',
  "src/sub/u.py": "",
  "src/README.md": "md\n",
  "src/data.json": "{}\n",
  "src/__pycache__/x.pyc": "z",
  "src/.env": "E=1\n",
};

const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest("hex");
const tableOf = (files: Record<string, string>): FileTable => {
  const table = FileTable.empty();
  for (const [path, content] of Object.entries(files))
    table.add({ path, size: content.length, executable: false, sha256: sha256(content) });
  return table;
};

t.test("the vectors of docs/contract/vectors.md", async (t) => {
  const table = tableOf(T);
  table.remove("manifest.json");
  t.equal(table.digest(), "fa3b2176cf968eaa11c900e1896a9d6eb1a31642c96deae9ceb46c25655e7e73");
  for (const path of ["src/__pycache__/x.pyc", "src/.env"]) table.remove(path);
  t.equal(table.digest(), "4d719dcd0dbb8cd670feece030def434a49d9b972195364442a7b30fc8f3cd02");
  t.equal(FileTable.empty().digest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});

t.test("a folder's digest is that of its files with paths relative to it", async (t) => {
  const table = tableOf({ ...T, "src-more/x": "not inside", srcs: "neither" });
  const inside = Object.fromEntries(
    Object.entries(T)
      .filter(([path]) => path.startsWith("src/"))
      .map(([path, content]) => [path.slice(4), content]),
  );
  t.equal(table.digestOfFolder("src"), tableOf(inside).digest());
  for (const folder of ["nowhere", "zz", "plugin.yaml"]) t.equal(table.digestOfFolder(folder), undefined);
});

/** Characters around every border of UTF-16 and ASCII that an order could get wrong. */
const character = fc.constantFrom(
  ..."ab-./0~ \u00e9\u07ff\u0800\ud7ff\ue000\uff5e\uffff",
  "\u{10000}",
  "\u{1f600}",
  "\u{10ffff}",
);
const path = fc.array(character, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));

/** The rule, word by word: components compared as arrays of code points. */
function naive(a: string, b: string): number {
  const points = (text: string) => text.split("/").map((part) => Array.from(part, (c) => c.codePointAt(0)!));
  const [left, right] = [points(a), points(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [x, y] = [left[i], right[i]];
    if (x === undefined) return -1;
    if (y === undefined) return 1;
    for (let j = 0; j < Math.max(x.length, y.length); j++) {
      if (x[j] === y[j]) continue;
      return (x[j] ?? -1) - (y[j] ?? -1);
    }
  }
  return 0;
}

t.test("paths are ordered by components, each by code point", async (t) => {
  fc.assert(
    fc.property(path, path, (a, b) => Math.sign(comparePaths(a, b)) === Math.sign(naive(a, b))),
    { numRuns: 3000 },
  );
  t.ok(comparePaths("a/b", "a-b/c") < 0, "the folder a comes before a-b");
  t.ok(comparePaths("\uff5e", "\u{1f600}") < 0, "U+FF5E comes before an emoji");
  t.ok(comparePaths("a", "a/b") < 0, "a folder comes before its contents");
});

t.test("the order in which files are added does not matter, and an independent digest agrees", async (t) => {
  fc.assert(
    fc.property(fc.dictionary(path, fc.string({ maxLength: 5 }), { maxKeys: 12 }), (files) => {
      const backwards = Object.fromEntries(Object.entries(files).reverse());
      const expected = treeDigest(new Map(Object.entries(files)));
      return tableOf(files).digest() === expected && tableOf(backwards).digest() === expected;
    }),
    { numRuns: 200 },
  );
  t.pass();
});
