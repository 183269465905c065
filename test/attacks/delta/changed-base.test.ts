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
