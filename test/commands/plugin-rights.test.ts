// Only in test:all: whole runs of an author.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { descriptor } from "../../lib/contract/files/descriptor.ts";
import { moreRights } from "../../lib/contract/rights.ts";

const LAUNCHER = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));

const run = (cwd: string, ...parameters: string[]) =>
  spawnSync(process.execPath, [LAUNCHER, ...parameters], { cwd, encoding: "utf8" });

const asRoot = { skip: process.getuid?.() === 0 ? false : "this process is not root's" };

const SPY = `
  import { readFileSync, writeFileSync } from "node:fs";
  import { get } from "node:http";
  export default { actions: {
    run: async (_payload, { services, dataDir, events }) => {
      await services.cache.set("a", 1);
      await services.databases.local.query("select 1");
      await events.emit("order.made", {});
      writeFileSync(dataDir + "/fine", "x");
      try { writeFileSync(dataDir + "/../notes", "x"); } catch {}
      try { readFileSync("/etc/hostname"); } catch {}
      await fetch("http://localhost:9/").catch(() => {});
      await fetch("http://localhost:9999/").catch(() => {});
      await new Promise((done) => get("http://127.0.0.1:9998/").on("error", done).on("response", done));
      return "done";
    },
    careful: (_payload, { services }) => services.cache.get("a"),
  } };`;
const DESCRIPTOR = `
  name: spy
  version: 1.0.0
  entry_point: main.mjs
  permissions: [{ resource: cache, actions: [get, set] }, { resource: "plugin:other", actions: [run] }]
  network: ["unused.example:443", "127.0.0.1:9998"]`;

t.test("plugin audit runs nothing as root who has not said so", asRoot, (t) => {
  const cwd = t.testdir({
    spy: { "plugin.yaml": DESCRIPTOR, "main.mjs": SPY, "plugin.test.yaml": "[{ action: run }]" },
  });
  const { status, stdout } = run(cwd, "plugin", "audit", "spy", "--json");
  t.equal(status, 2);
  t.match(JSON.parse(stdout), { error: { code: "usage", message: /--as-root/ } });
  t.notOk(existsSync(join(cwd, "spy/notes")));
  t.end();
});

t.test("plugin audit prints the least that the plugin's own tests need", (t) => {
  const cwd = t.testdir({
    spy: { "plugin.yaml": DESCRIPTOR, "main.mjs": SPY, "plugin.test.yaml": "[{ action: run, result: done }]" },
    "i.yaml": '{ services: { databases: { local: { type: sqlite, url: ":memory:" } } } }',
  });
  const { status, stdout, stderr } = run(
    cwd,
    "plugin",
    "audit",
    "--as-root",
    "spy",
    "--integration",
    "i.yaml",
    "--json",
  );
  t.equal(status, 1, stderr);
  t.match(JSON.parse(stdout), {
    event: "result",
    status: "failed",
    outcomes: [{ passed: true }],
    permissions: [
      { resource: "cache", actions: ["set"] },
      { resource: "database:local", actions: ["read"] },
      { resource: "events:order.made", actions: ["emit"] },
    ],
    network: ["127.0.0.1:9998", "localhost:9999"],
    writes: ["notes"],
    unused: ["cache: get", "plugin:other: run", "network: unused.example:443"],
    missing: ["database:local: read", "events:order.made: emit", "writes: notes", "network: localhost:9999"],
  });
  const { refused } = JSON.parse(stdout) as { refused: string[] };
  t.ok(refused.includes("FileSystemRead /etc/hostname"), refused.join());
  t.notOk(
    refused.some((line) => line.includes("fine") || line.includes("main.mjs")),
    "its own folders are not a finding",
  );
  t.end();
});

t.test("a plugin that asks for enough is told so, in text that can be copied", (t) => {
  const cwd = t.testdir({
    spy: { "plugin.yaml": DESCRIPTOR, "main.mjs": SPY, "plugin.test.yaml": "[{ action: careful, result: null }]" },
  });
  const { status, stdout, stderr } = run(cwd, "plugin", "audit", "--as-root", "spy");
  t.equal(status, 0, stderr + stdout);
  t.notMatch(stderr, /does not grant|second wall/);
  t.match(stdout, 'permissions:\n  - { resource: "cache", actions: [get] }\nnetwork: false');
  t.match(stdout, "# asked for, and not used: cache: set");
  t.equal(run(cwd, "plugin", "audit", "--as-root", "nowhere").status, 2);
  t.end();
});

t.test("plugin rights shows what is asked for, and what a new release asks for beyond the old one", (t) => {
  const cwd = t.testdir({
    old: { "plugin.yaml": DESCRIPTOR },
    new: { "plugin.yaml": DESCRIPTOR.replace("1.0.0", "2.0.0").replace("get, set", "get, set, delete") },
  });
  t.match(run(cwd, "plugin", "rights", "old").stdout, "spy 1.0.0\n  network: unused.example:443\n");
  const more = run(cwd, "plugin", "rights", "new", "--against", "old");
  t.equal(more.status, 1);
  t.equal(more.stdout, "spy 1.0.0 → 2.0.0\n  cache: delete\n");
  const less = run(cwd, "plugin", "rights", "old", "--against", "new", "--json");
  t.equal(less.status, 0);
  t.match(JSON.parse(less.stdout), { event: "result", plugin: "spy", version: "1.0.0", rights: [] });
  t.equal(run(cwd, "plugin", "rights", join(cwd, "nowhere")).status, 2);
  t.end();
});

t.test("plugin rights names who has signed an installed plugin, where a signer was demanded", (t) => {
  const release = (version: string, signer: string | null) => ({
    plugins: { spy: { "plugin.yaml": DESCRIPTOR.replace("1.0.0", version) } },
    "release.json": JSON.stringify({
      ...{ version, signer, identity: null, items: [], content_sha256: null, created_at: "2026-01-01T00:00:00.000Z" },
    }),
  });
  const keys = ["a".repeat(64), "b".repeat(64)] as const;
  const cwd = t.testdir({
    one: release("1.0.0", keys[0]),
    two: release("2.0.0", keys[1]),
    three: release("3.0.0", null),
    plugins: { spy: t.fixture("symlink", "../one/plugins/spy") },
    new: { "plugin.yaml": DESCRIPTOR.replace("1.0.0", "4.0.0") },
  });
  const json = (...words: string[]) =>
    JSON.parse(run(cwd, "plugin", "rights", ...words, "--json").stdout) as Record<string, unknown>;
  t.match(run(cwd, "plugin", "rights", "plugins/spy").stdout, /^spy 1\.0\.0 \(signed by a{16}\)\n/);
  t.equal(
    run(cwd, "plugin", "rights", "two/plugins/spy", "--against", "plugins/spy").stdout,
    `spy 1.0.0 (signed by ${"a".repeat(16)}) → 2.0.0 (signed by ${"b".repeat(16)})\n  nothing more\n`,
  );
  t.match(json("two/plugins/spy", "--against", "plugins/spy"), { signer: keys[1], against_signer: keys[0] });
  t.match(json("three/plugins/spy"), { signer: null }, "none was demanded");
  t.notOk("signer" in json("new"), "a folder that nobody has signed");
  t.end();
});

t.test("more rights are what the older release did not ask for", (t) => {
  const of = (extra: object) => descriptor.parse({ name: "a", version: "1", ...extra });
  const cases: [before: object, after: object, more: string[]][] = [
    [{}, {}, []],
    [{}, { network: true }, ["network: all"]],
    [{ network: true }, { network: ["a.example:1"] }, []],
    [{ network: ["*.a.example:1"] }, { network: ["*.a.example:1", "[::1]:2"] }, ["network: [::1]:2"]],
    [{}, { execution_mode: "trusted" }, ["trusted: runs in the runtime's process and can do whatever it can"]],
    [{}, { environment: { optional: ["TOKEN"] } }, ["environment: TOKEN"]],
    [{}, { filesystem: { allowed_paths: ["data/", "cache/"] } }, ["writes: cache/"]],
    [{}, { resources: { max_memory_mb: 256 } }, ["max_memory_mb: 256 instead of 128"]],
    [{ resources: { max_memory_mb: 256 } }, {}, []],
    [
      { permissions: [{ resource: "cache", actions: ["get"], effect: "deny" }] },
      { permissions: [] },
      ["no longer denied: cache: get"],
    ],
  ];
  for (const [before, after, more] of cases) t.same(moreRights(of(before), of(after)), more, JSON.stringify(after));
  t.end();
});
