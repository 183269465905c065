import { hash } from "node:crypto";
import fc from "fast-check";
import t from "tap";
import { comparePaths } from "../../../../lib/artifact/tree/compare-paths.ts";
import type { FileEntry } from "../../../../lib/artifact/tree/file-table.ts";
import { FileTable } from "../../../../lib/artifact/tree/file-table.ts";
import { listedInOrder } from "../../../../lib/artifact/tree/tree-listing.ts";

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
      const lookUp = wanted.map(({ path }) => [table.find(path), table.find(`${path}\u0001`)]);
      t.strictSame([[...table], lookUp], [files, expected]);
      t.strictSame([...table.inOrder().map((index) => table.at(index))], inOrder);
      const gone = looked[0]?.path ?? "nothing";
      table.remove(gone);
      table.remove("nothing");
      t.strictSame(
        [...table],
        files.filter(({ path }) => path !== gone),
      );
    }),
    { numRuns: 200 },
  );
  t.end();
});

t.test("a table that another thread has filled can leave out the folder that all are in", (t) => {
  const files = ["é/b/x", "é/a", "é/b-c"].map(fileOf);
  const within = FileTable.received(structuredClone(FileTable.of(files).sent())).below("é");
  t.strictSame(
    [...within],
    files.map((file) => ({ ...file, path: file.path.slice(2) })),
  );
  for (const file of files) t.equal(within.find(file.path.slice(2))?.sha256, file.sha256);
  t.equal(within.find("é/a"), undefined);
  t.end();
});

t.test("a table grows beyond the room that it was made with", (t) => {
  const files = Array.from({ length: 100 }, (_, index) => fileOf(`é/${"x".repeat(index % 7)}/${index}`, index));
  for (const [room, nameBytes] of [
    [1, 1],
    [1000, 8],
    [8, 10_000],
  ] as const) {
    const table = FileTable.empty(room, nameBytes);
    for (const file of files) table.add(file);
    t.strictSame([...table], files);
  }
  const exact = files.reduce((sum, { path }) => sum + Buffer.byteLength(path), 0);
  const table = FileTable.empty(files.length, exact);
  const { names } = table.sent().columns;
  for (const file of files) table.add(file);
  t.equal(table.sent().columns.names, names, "another thread may hold columns that have room for all");
  t.end();
});

t.test("a listing has files and folders that hold nothing in one order", (t) => {
  const file = fileOf("b", 1);
  t.strictSame(
    [...listedInOrder({ files: FileTable.of([file]), emptyFolders: ["a", "b-c", "z"] })],
    [
      { file: undefined, path: "a" },
      { file: 0, path: "b" },
      { file: undefined, path: "b-c" },
      { file: undefined, path: "z" },
    ],
  );
  t.strictSame([...listedInOrder({ files: FileTable.empty(), emptyFolders: [] })], []);
  t.end();
});
