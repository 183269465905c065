// Only in test:all: it starts many sandboxes, 7 s of a processor.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import t from "tap";
import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

t.test("a plugin's folder with a link that leads out of it is refused, wherever the link is", async (t) => {
  const host = await startAttacker(t, { files: { secret: "secret", "folder/file": "x" } });
  const links: Record<string, [path: string, target: string]> = {
    "a relative link": ["link", "../../secret"],
    "an absolute link": ["src/link", "/etc/passwd"],
    "a link to a folder": ["src/folder", "../../../folder"],
    "a link to the root": ["root", "/"],
    "a link that leads nowhere": ["nowhere", "../../../absent"],
    "a link in data/": ["data/link", "../../../secret"],
    "an absolute link in data/": ["data/deep/link", "/etc"],
    "a link in node_modules": ["node_modules/.bin/tool", "../../../../secret"],
  };
  for (const [name, [path, target]] of Object.entries(links)) {
    const link = host.path("plugins/evil", path);
    mkdirSync(link.slice(0, link.lastIndexOf("/")), { recursive: true });
    symlinkSync(target, link);
    const answer = await host.reload("evil");
    t.match(answer, { status: 500, body: { code: "link_outside" } }, name);
    rmSync(link);
  }
  t.match(await host.reload("evil"), { status: 200 });
});

t.test("data/ that is a link to anywhere but the host's store for this plugin is refused", async (t) => {
  const host = await startAttacker(t, { files: { "elsewhere/file": "x", ".sealift/data/plugins/victim/note": "x" } });
  for (const target of ["../../elsewhere", "/tmp", "../../.sealift/data/plugins/victim", "src"]) {
    rmSync(host.path("plugins/evil/data"), { recursive: true, force: true });
    symlinkSync(target, host.path("plugins/evil/data"));
    const answer = await host.reload("evil");
    if (target === "src") t.equal(answer.status, 200, "a link that stays inside is no way out");
    else t.match(answer, { status: 500, body: { code: "link_outside" } }, target);
  }
});

t.test("an entry point that is a link out of the folder is refused", async (t) => {
  const host = await startAttacker(t, { files: { "outside.mjs": "export default { actions: {} }" } });
  rmSync(host.path("plugins/evil/src/main.mjs"));
  symlinkSync("../../../outside.mjs", host.path("plugins/evil/src/main.mjs"));
  t.match(await host.reload("evil"), { status: 500, body: { code: "entry_missing" } });
});

t.test("a link that stays inside is not a fault", async (t) => {
  const host = await startAttacker(t);
  writeFileSync(host.path("plugins/evil/src/real.mjs"), "export default 1");
  symlinkSync("real.mjs", host.path("plugins/evil/src/alias.mjs"));
  t.match(await host.reload("evil"), { status: 200 });
});

inEachSetting("a sandboxed plugin makes no links of its own", async (t, setting) => {
  const host = await startAttacker(t, { setting, files: { secret: "secret" } });
  await allRefused(
    t,
    host,
    {
      symlink: `return (await load("node:fs")).symlinkSync(parameters.secret, context.dataDir + "/link")`,
      "relative symlink": `return (await load("node:fs")).symlinkSync("../../../secret", context.dataDir + "/link")`,
      "symlink with promises": `return (await load("node:fs/promises")).symlink("/etc/passwd", context.dataDir + "/link")`,
      "hard link": `return (await load("node:fs")).linkSync(parameters.secret, context.dataDir + "/link")`,
      "copied link": `return (await load("node:fs")).cpSync("/proc/self/exe", context.dataDir + "/link", { verbatimSymlinks: true })`,
    },
    { secret: host.path("secret") },
    // Behind the wall a link leads nowhere, and on the host the plugin's next load is refused.
    setting === "wall" ? ["symlink", "relative symlink", "symlink with promises", "copied link"] : [],
  );
  if (setting === "wall") t.match(await host.reload("evil"), { status: 500, body: { code: "link_outside" } });
});
