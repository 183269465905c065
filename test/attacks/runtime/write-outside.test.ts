import { chmodSync, existsSync, readFileSync } from "node:fs";
import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

inEachSetting("a sandboxed plugin writes nothing but its data folder", async (t, setting) => {
  const host = await startAttacker(t, { setting, files: { "open/target": "untouched" } });
  // Whatever the sandbox's user could do: it is the sandbox that must refuse.
  chmodSync(host.path("open"), 0o777);
  chmodSync(host.path("open/target"), 0o666);
  const own = readFileSync(host.path("plugins/evil/src/main.mjs"), "utf8");
  const parameters = {
    target: host.path("open/target"),
    fresh: host.path("open/fresh"),
    own: host.path("plugins/evil/src/main.mjs"),
    folder: host.path("plugins/evil"),
  };
  await allRefused(
    t,
    host,
    {
      target: `return (await load("node:fs")).writeFileSync(parameters.target, "x")`,
      fresh: `return (await load("node:fs")).writeFileSync(parameters.fresh, "x")`,
      "own code": `return (await load("node:fs")).writeFileSync(parameters.own, "x")`,
      "own descriptor": `return (await load("node:fs")).writeFileSync(parameters.folder + "/plugin.yaml", "x")`,
      "new file in its folder": `return (await load("node:fs")).writeFileSync(parameters.folder + "/fresh", "x")`,
      dots: `return (await load("node:fs")).writeFileSync(context.dataDir + "/../../victim/data/fresh", "x")`,
      rename: `const fs = await load("node:fs"); fs.writeFileSync(context.dataDir + "/a", "x"); return fs.renameSync(context.dataDir + "/a", parameters.fresh)`,
      remove: `return (await load("node:fs")).rmSync(parameters.own)`,
      chmod: `return (await load("node:fs")).chmodSync(parameters.own, 0o777)`,
      mkdir: `return (await load("node:fs")).mkdirSync(parameters.fresh)`,
      mkdtemp: `return (await load("node:fs")).mkdtempSync(parameters.fresh)`,
      snapshot: `return (await load("node:v8")).writeHeapSnapshot(parameters.fresh)`,
      report: `return process.report.writeReport(parameters.fresh)`,
      "sqlite file": `const { DatabaseSync } = await load("node:sqlite"); return new DatabaseSync(parameters.fresh).exec("create table t(a)")`,
      "sqlite VACUUM INTO": `const { DatabaseSync } = process.getBuiltinModule("node:sqlite"); return new DatabaseSync(":memory:").exec("vacuum into '" + parameters.fresh + "'")`,
      "sqlite through require": `const { createRequire } = await load("node:module"); const { DatabaseSync } = createRequire(parameters.own)("node:sqlite"); return new DatabaseSync(":memory:").exec("attach '" + parameters.fresh + "' as x")`,
    },
    parameters,
    // It says that it failed on standard error, and returns no name.
    setting === "wall" ? ["report"] : [],
  );
  const cache = await host.attack(
    `return (await load("node:module")).enableCompileCache(parameters.fresh)`,
    parameters,
  );
  t.notOk(existsSync(host.path("open/fresh")), JSON.stringify(cache));
  t.equal(readFileSync(host.path("open/target"), "utf8"), "untouched");
  t.equal(readFileSync(host.path("plugins/evil/src/main.mjs"), "utf8"), own);
  t.notOk(existsSync(host.path("plugins/victim/data/fresh")));
  t.match(await host.attack(`(await load("node:fs")).writeFileSync(context.dataDir + "/mine", "x")`), { done: null });
});
