// Only in test:all: each of its archives is published, and refused by a host, 5 s of a processor.
import { execFileSync } from "node:child_process";
import { appendFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { complete, deltaBetween, twoVersions } from "../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const BEFORE = { "plugins/demo/kept": "kept as it is", "plugins/demo/a": "1" };

t.test("a base file that is not what was installed is never taken over", async (t) => {
  const changes: Record<string, (file: string) => void> = {
    "other bytes of the same length": (file) => writeFileSync(file, "KEPT as it is"),
    "a longer file": (file) => appendFileSync(file, "!"),
    "an empty file, as after a power cut": (file) => writeFileSync(file, ""),
    "a missing file": (file) => rmSync(file),
    "a link to the same bytes": (file) => {
      writeFileSync(`${file}.real`, readFileSync(file));
      rmSync(file);
      symlinkSync(`${file}.real`, file);
    },
    "a pipe": (file) => {
      rmSync(file);
      execFileSync("mkfifo", [file]);
    },
    "a folder": (file) => {
      rmSync(file);
      execFileSync("mkdir", [file]);
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    const folder = temporaryFolder(t);
    const { from, to, tree, base } = await twoVersions(folder, BEFORE, { ...BEFORE, "plugins/demo/a": "2" });
    const delta = await deltaBetween(folder, from, to);
    change(join(tree, "plugins/demo/kept"));
    await t.rejects(complete(folder, delta, base, "1.1.0"), { code: "delta_base_changed", message: /kept/ }, what);
  }
});

t.test("a changed file is found among many, whichever thread copies it", async (t) => {
  const many = Object.fromEntries(
    Array.from({ length: 400 }, (_, index) => [`plugins/demo/${index}`, `file ${index}`]),
  );
  const folder = temporaryFolder(t);
  const { from, to, tree, base } = await twoVersions(folder, many, { ...many, "plugins/demo/0": "edited" });
  const delta = await deltaBetween(folder, from, to);
  // The first files of a tree go to the second thread, the last ones stay with the first.
  for (const name of ["1", "99"]) {
    const file = join(tree, "plugins/demo", name);
    writeFileSync(file, `FILE ${name}`);
    const refused = { code: "delta_base_changed", message: new RegExp(`"plugins/demo/${name}"`) };
    await t.rejects(complete(temporaryFolder(t), delta, base, "1.1.0"), refused);
    writeFileSync(file, `file ${name}`);
  }
  const completed = await complete(temporaryFolder(t), delta, base, "1.1.0");
  for (const [path, content] of Object.entries(many))
    t.equal(readFileSync(join(completed, path), "utf8"), path === "plugins/demo/0" ? "edited" : content);
});
