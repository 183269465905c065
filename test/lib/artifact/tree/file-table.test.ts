import { hash } from "node:crypto";
import fc from "fast-check";
import t from "tap";
import { FileTable } from "../../../../lib/artifact/tree/file-table.ts";
import { comparePaths } from "../../../../lib/artifact/tree/tree-digest.ts";
import type { FileEntry } from "../../../../lib/artifact/tree/tree-index.ts";
import { type FileList, listingOf } from "../../../../lib/artifact/tree/tree-listing.ts";

const fileOf = (path: string, index: number): FileEntry => ({
  type: "file",
  path,
  executable: index % 2 === 0,
  size: index * 1e10,
  sha256: hash("sha256", path),
  ...(index % 3 > 0 && { mtimeMs: index + 0.5 }),
});

const component = fc.oneof(
  fc.constantFrom("a", "a-b", "b", "ab", "é", "\u{10000}", "\uffee"),
  fc.stringMatching(/^[a-z]{1,3}$/),
);
const paths = fc.uniqueArray(
  fc.array(component, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
  { maxLength: 40 },
);

t.test("a table gives back the files that it was made of, by place and by path, in any order", (t) => {
  fc.assert(
    fc.property(paths, fc.array(fc.nat()), (names, looks) => {
      const files = names.map(fileOf);
      const table = FileTable.of(files);
      const looked = files.length === 0 ? [] : looks.map((look) => files[look % files.length]!);
      const inOrder = files.toSorted((a, b) => comparePaths(a.path, b.path));
      const wanted = [...looked, ...inOrder];
      const expected = wanted.map((file) => [file, undefined]);
      const lookUp = (list: FileList) => wanted.map(({ path }) => [list.find(path), list.find(`${path}\u0001`)]);
      t.strictSame([[...table], lookUp(table)], [files, expected]);
      const listed = listingOf(inOrder).files;
      t.strictSame([[...listed], lookUp(listed)], [inOrder, expected], "and so does a listing of this thread's own");
    }),
    { numRuns: 200 },
  );
  t.end();
});

t.test("a table that another thread has filled can leave out the folder that all are in", (t) => {
  const files = ["é/b/x", "é/a", "é/b-c"].map(fileOf);
  const { columns, length } = FileTable.of(files);
  const within = new FileTable(structuredClone(columns), length, Buffer.byteLength("é/"));
  t.strictSame(
    [...within],
    files.map((file) => ({ ...file, path: file.path.slice(2) })),
  );
  for (const file of files) t.equal(within.find(file.path.slice(2))?.sha256, file.sha256);
  t.equal(within.find("é/a"), undefined);
  t.end();
});

t.test("a listing tells files from folders that hold nothing", (t) => {
  const file = fileOf("a", 1);
  const { files, emptyFolders } = listingOf([file, { type: "folder", path: "b" }]);
  t.strictSame([...files], [file]);
  t.strictSame(emptyFolders, ["b"]);
  t.strictSame([...listingOf([]).files], []);
  t.equal(listingOf([]).files.find("a"), undefined);
  t.end();
});
