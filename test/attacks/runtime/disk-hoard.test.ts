// Only in test:all: it starts many sandboxes, 7 s of a processor.
import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import t from "tap";
import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";
import { until } from "../../support/until.ts";

const descriptor = { resources: { timeout_seconds: 30, max_disk_mb: 5, max_memory_mb: 512 } };

const HOARDS = {
  "files that are open and have no name": `const fs = await load("node:fs"); const block = Buffer.alloc(1e6, 1);
    for (let file = 0; file < 5; file++) {
      const fd = fs.openSync(context.dataDir + "/f", "w"); fs.unlinkSync(context.dataDir + "/f");
      for (let i = 0; i < 4; i++) fs.writeSync(fd, block);
    }
    globalThis.kept = true; return "written";`,
  "files without content": `const fs = await load("node:fs");
    for (let file = 0; file < 6000; file++) fs.closeSync(fs.openSync(context.dataDir + "/" + file, "w"));
    return "written";`,
  // As many as files: on tmpfs a folder takes no block.
  "folders without content": `const fs = await load("node:fs");
    for (let folder = 0; folder < 6000; folder++) fs.mkdirSync(context.dataDir + "/" + folder);
    return "written";`,
};

inEachSetting("a plugin that hoards exceeds its disk limit", async (t, setting) => {
  const host = await startAttacker(t, { setting, descriptor });
  for (const [name, code] of Object.entries(HOARDS)) {
    void host.call("evil", "run", { code });
    await until(async () => (await host.status("evil")).error_code === "disk_exceeded", 60_000);
    t.equal((await host.status("evil")).state, "error", name);
    const { disk } = (await host.status("victim")) as { disk?: unknown };
    t.match(disk, { bound: "sampled", interval_ms: 250, max_mb: 50 }, "status says that the disk is not held exactly");
    t.equal(await host.result("victim", "alive"), "alive");
    rmSync(host.path("plugins/evil/data"), { recursive: true });
    t.match(await host.load("evil"), { status: 200 }, "with room it loads again");
  }
});

t.test("a load does not walk more files than the disk limit lets a plugin have", async (t) => {
  const host = await startAttacker(t, { descriptor: { resources: { max_disk_mb: 1 } }, listen: false });
  const data = host.path("plugins/evil/data");
  mkdirSync(data);
  for (let file = 0; file < 30_000; file++) writeFileSync(`${data}/${file}`, "");
  host.url = await host.runtime.listen();
  const started = performance.now();
  t.match(await host.load("evil"), { status: 500, body: { code: "disk_exceeded" } });
  t.ok(performance.now() - started < 1000, `${Math.round(performance.now() - started)} ms`);
});

t.test("fs.cpSync makes no link, whatever it copies", async (t) => {
  const host = await startAttacker(t, { descriptor: { filesystem: { allowed_paths: ["data/"] } } });
  const data = host.path("plugins/evil/data");
  // A link that another release left: the sandbox cannot make one itself.
  mkdirSync(`${data}/in`, { recursive: true });
  const { symlinkSync } = await import("node:fs");
  symlinkSync("in", `${data}/link`);
  for (const options of ["{ recursive: true }", "{ recursive: true, verbatimSymlinks: true }"]) {
    await host.attack(
      `(await load("node:fs")).cpSync(context.dataDir + "/link", context.dataDir + "/out", ${options});`,
    );
    await host.attack(`const fs = await load("node:fs"); fs.mkdirSync(context.dataDir + "/from");
      fs.cpSync(context.dataDir, "/proc/self/cwd/data/copy", ${options});`);
    await host.attack(`const fs = (await load("node:module")).createRequire(context.dataDir + "/x")("fs");
      fs.cpSync(context.dataDir + "/../data", context.dataDir + "/all", { ...${options}, filter: undefined });`);
  }
  const links = readdirSync(data, { recursive: true, encoding: "utf8" }).filter((path) =>
    lstatSync(`${data}/${path}`).isSymbolicLink(),
  );
  t.same(links, ["link"]);
});
