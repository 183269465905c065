import type { Stats } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { comparePaths } from "../../../../lib/artifact/tree/compare-paths.ts";
import { isUnchanged, MemberList } from "../../../../lib/artifact/tree/member-list.ts";

const statsOf = (isFolder: boolean, number: number): Stats =>
  ({
    ...{ dev: number, ino: 2 ** 40 + number, size: number * 1e9, mtimeMs: number + 0.25, ctimeMs: number + 0.5 },
    mode: number % 2 === 0 ? 0o755 : 0o644,
    isDirectory: () => isFolder,
  }) as Stats;

const names = fc.constantFrom("a", "a-b", "ab", "b", "é", "\u{10000}");
const paths = fc.uniqueArray(
  fc.array(names, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
  { maxLength: 20 },
);

t.test("a list finds members, what lies in a folder and what folder is empty, as a search of all would", (t) => {
  fc.assert(
    fc.property(paths, (files) => {
      const parents = files.flatMap((path) =>
        path.split("/").map((_, depth, parts) => parts.slice(0, depth).join("/")),
      );
      const folders = new Set(parents.filter((path) => path !== ""));
      // A path that others lie in is a folder; of the others every second one is an empty folder.
      files.filter((path, index) => index % 2 === 0 && !folders.has(path)).forEach((path) => folders.add(path));
      const all = [...new Set([...files, ...folders])].toSorted(comparePaths);
      const list = new MemberList();
      all.forEach((path, index) => list.push(path, statsOf(folders.has(path), index)));
      const below = (folder: string): string[] => all.filter((path) => path.startsWith(`${folder}/`));
      t.strictSame(
        [...list].map(({ path, type, size, executable }) => [path, type, size, executable]),
        all.map((path, index) =>
          folders.has(path) ? [path, "folder", 0, index % 2 === 0] : [path, "file", index * 1e9, index % 2 === 0],
        ),
      );
      t.strictSame([list.length, list.files], [all.length, all.length - folders.size]);
      t.equal(
        list.bytes,
        [...list].reduce((sum, { size }) => sum + size, 0),
      );
      for (const path of ["a", "b/a", "zz", ...all]) {
        t.equal(list.has(path), all.includes(path));
        t.strictSame(
          [...list.within(path)].map((index) => list.pathAt(index)),
          below(path),
        );
      }
      t.strictSame(
        list.emptyFolders(),
        all.filter((path) => folders.has(path) && below(path).length === 0),
      );
    }),
    { numRuns: 100 },
  );
  t.end();
});

t.test("a list grows, and keeps the facts that show whether a file has changed", (t) => {
  const list = new MemberList();
  for (let index = 0; index < 3000; index++) list.push(`f${String(index).padStart(5, "0")}`, statsOf(false, index));
  const { stamp, path } = list.at(2999);
  t.equal(path, "f02999");
  t.ok(isUnchanged(statsOf(false, 2999), stamp));
  for (const fact of ["dev", "ino", "size", "mtimeMs", "ctimeMs"] as const)
    t.notOk(isUnchanged({ ...statsOf(false, 2999), [fact]: 1 }, stamp), fact);
  t.end();
});
