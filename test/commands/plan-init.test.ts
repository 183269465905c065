import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("a starter plan is for a target by its name, with its kind before it as other commands take it", async (t) => {
  const folder = temporaryFolder(t);
  const init = (...words: string[]) => commandLine(["plan", "init", ...words], { cwd: folder });
  t.equal((await init("plugin:tide", "--out", "tide.yaml")).code, 0);
  t.match(await readFile(join(folder, "tide.yaml"), "utf8"), /plugin: tide$/m);
  t.equal((await init("service:clock", "--out", "clock.yaml")).code, 0, "the kind need not be said twice");
  t.match(await readFile(join(folder, "clock.yaml"), "utf8"), /extension: clock$/m);
  for (const plan of ["tide.yaml", "clock.yaml"])
    t.equal((await commandLine(["plan", "validate", plan], { cwd: folder })).code, 0, plan);
});

t.test("a name that no plan can have is refused, and nothing is written", async (t) => {
  const folder = temporaryFolder(t);
  const init = (...words: string[]) => commandLine(["plan", "init", ...words], { cwd: folder });
  t.match(await init("Tide Table"), { code: 2, stderr: /"Tide Table" is not a plugin's slug: must be 1 to 128/ });
  t.match(await init("plugin:tide", "--kind", "service"), {
    code: 2,
    stderr: /plugin:tide is a plugin, and --kind says service/,
  });
  await t.rejects(readFile(join(folder, "install.yaml")), { code: "ENOENT" });
});
