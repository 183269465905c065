import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import type { FileEntry } from "../../../lib/artifact/tree/file-table.ts";
import { FileTable } from "../../../lib/artifact/tree/file-table.ts";
import { listedInOrder } from "../../../lib/artifact/tree/tree-listing.ts";
import { CONTENTS_FILE, damageOf, readContents, writeContents } from "../../../lib/releases/contents.ts";
import { readRelease, writeRelease } from "../../../lib/releases/release.ts";
import { SourceFolders } from "../../../lib/releases/source-folders.ts";
import { baseTree, deltaBases } from "../../../lib/releases/source-tree.ts";
import { layoutOf } from "../../support/host/project-root.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const TARGET = "project-prj_0123456789abcdef" as const;
const FOLDERS = { "plugins/a": "code/a", "extensions/b": "extensions/b" };

/** Path in the source tree → place in the release. */
const PLACES = {
  "code/a/main.js": "plugins/a/main.js",
  "code/a/data/seed": "shipped-data/plugins/a/seed",
  "deployment/install.yaml": "rest/deployment/install.yaml",
  "extensions/b/lib.js": "extensions/b/lib.js",
  "integration.yaml": "integration.yaml",
};

t.test("the contents of a release tell damage, and the tree that it was made of", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const folder = layout.release(TARGET, "1.0.0-x");
  const plant = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const tree = new Map<string, FileEntry>();
  for (const [path, place] of Object.entries(PLACES)) {
    plant(place, path);
    const sha256 = createHash("sha256").update(path).digest("hex");
    tree.set(path, { type: "file", path, executable: place.endsWith("main.js"), size: path.length, sha256 });
  }
  plant("plugins/a/made", "by a provisioner");
  plant("plugins/a/main.js", "changed by a provisioner");
  const folders = new SourceFolders(FOLDERS);
  for (const [path, place] of Object.entries(PLACES)) t.equal(folders.pathOf(place), path);

  const known = (place: string) => {
    const unpacked = tree.get(folders.pathOf(place));
    return { unpacked, isSource: unpacked !== undefined, mayHaveChanged: place.startsWith("plugins/") };
  };
  const files = await writeContents(folder, {
    known,
    kept: ["integration.yaml"],
    emptyFolders: ["extensions/b/empty"],
  });
  t.equal(files, 7);
  await writeRelease(layout, TARGET, "1.0.0-x", {
    version: "1.0.0",
    identity: null,
    items: [],
    content_sha256: FileTable.of(tree.values()).digest(),
    source_folders: FOLDERS,
    created_at: new Date().toISOString(),
    files,
  });
  const release = (await readRelease(layout, TARGET, "1.0.0-x"))!;
  t.match(await deltaBases(layout, TARGET), [{ version: "1.0.0" }]);
  const base = (await baseTree(layout, TARGET, release))!;
  t.strictSame(
    [...listedInOrder(base)].map(({ path }) => path),
    [...tree.keys(), "extensions/b/empty"].toSorted(),
    "in canonical order",
  );
  t.strictSame(new Set(base.files), new Set(tree.values()), "as the tree was, not as it was made");
  t.strictSame(base.emptyFolders, ["extensions/b/empty"]);
  const places = [...base.files].map(({ path }, index) => [path, base.pathOf(index)]);
  t.strictSame(
    Object.fromEntries(places),
    Object.fromEntries(Object.entries(PLACES).map(([path, place]) => [path, join(folder, place)])),
  );

  t.equal(await damageOf(layout, TARGET, release, { digests: true }), undefined);
  rmSync(join(folder, "rest"), { recursive: true });
  t.equal(await damageOf(layout, TARGET, release), undefined, "what runs nowhere is not damage");
  t.match(await damageOf(layout, TARGET, release, { digests: true }), /rest\/deployment\/install\.yaml is missing/);

  const list = join(folder, CONTENTS_FILE);
  const text = readFileSync(list, "utf8");
  writeFileSync(list, text.replace('"executable":false', '"executable":false,"source":{"size":1,"sha256":"00"}'));
  await t.rejects(baseTree(layout, TARGET, release), { code: "delta_base_changed" });
  writeFileSync(list, `${text}{}\n`);
  await t.rejects(baseTree(layout, TARGET, release), { code: "delta_base_changed" });
  t.match(await damageOf(layout, TARGET, release), /its list of files is damaged/);
  rmSync(list);
  t.equal(await baseTree(layout, TARGET, release), undefined);
  t.strictSame(await deltaBases(layout, TARGET), []);
});

t.test("a path of a release leads to its source, however the plan spells the folder", async (t) => {
  const cases: Record<string, Record<string, string>> = {
    "./code/a/": { "plugins/a/x.js": "code/a/x.js", "shipped-data/plugins/a/s/seed": "code/a/data/s/seed" },
    ".": { "plugins/a/x.js": "x.js", "shipped-data/plugins/a/seed": "data/seed" },
  };
  for (const [folder, paths] of Object.entries(cases)) {
    const folders = new SourceFolders({ "plugins/a": folder });
    const all = { ...paths, "rest/plugins/a/x.js": "plugins/a/x.js" };
    for (const other of ["plugins/b/x.js", "plugins/a", "release.json"]) Object.assign(all, { [other]: other });
    for (const [place, source] of Object.entries(all)) {
      t.equal(folders.pathOf(place), source);
      t.equal(folders.placeIn(folders.originOf(place), source), place, "and back");
    }
  }
});

t.test("a line of contents that is neither a file nor a folder is known as damaged", async (t) => {
  const folder = temporaryFolder(t);
  const file = { path: "a", size: 1, mtime_ms: 2, sha256: "c" };
  const damaged = [
    { ...file, folder: 5 },
    { ...file, size: "1" },
    { ...file, executable: 1 },
    { folder: null },
    null,
    [],
  ];
  const lines = [file, { folder: "b" }, ...damaged].map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(folder, "contents.ndjson"), [...lines, "{\n"].join(""));
  const found = await Array.fromAsync(readContents(folder));
  t.strictSame(found, [file, { folder: "b" }, ...damaged.map(() => undefined), undefined]);
});
