import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import t from "tap";
import { actions, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";

const version = (text: string): string =>
  actions(`
    version: () => ${JSON.stringify(text)},
    slow: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(${JSON.stringify(text)}), ms)),
  `);

t.test(
  "load brings in a plugin that came to the disk later, and a loaded one whose release was switched",
  async (t) => {
    const host = await startHost(t);
    t.match(await host.load("plug"), { status: 404 });
    host.install("plug", trusted("plug", version("one")));
    t.match(await host.load("plug"), { status: 200, body: { msg: "plug is loaded" } });
    t.match(await host.load("plug"), { status: 200, body: { msg: "plug is loaded already" } });
    renameSync(host.path("plugins/plug"), host.path("one"));
    host.install("two", trusted("plug", version("two")));
    renameSync(host.path("plugins/two"), host.path("two"));
    symlinkSync("../two", host.path("plugins/plug"));
    t.match(await host.load("plug"), { status: 200, body: { msg: /anew/ } });
    t.equal(await host.result("plug", "version"), "two");
  },
);

t.test("applications of the root are none of a runtime's business, whatever is in them", async (t) => {
  const files = {
    "apps/web/app.yaml": "command: [node, server.js]\n",
    "apps/web/plugin.yaml": "name: web\nversion: 1.0.0\nexecution_mode: trusted\nentry_point: server.mjs\n",
    "apps/web/server.mjs": "import { writeFileSync } from 'node:fs'; writeFileSync('ran', '');",
    "apps/plug/app.yaml": "command: [node, server.js]\n",
  };
  const host = await startHost(t, { plugins: { plug: trusted("plug", version("one")) }, files });
  await host.runtime.refresh();
  const { body } = await host.system("GET", "/plugin/ipc/status");
  t.match(body, { plugins: [{ name: "plug" }] });
  t.equal((body as { plugins: unknown[] }).plugins.length, 1);
  t.match(await host.system("GET", "/plugin/ipc/health"), { body: { status: "healthy" } });
  t.match(await host.load("web"), { status: 404 });
  t.equal(await host.result("plug", "version"), "one", "a plugin of the same name as an application runs");
  t.notOk(existsSync(host.path("apps/web/ran")) || existsSync("ran"));
});

t.test("a load that fails is a 500 with the reason, and the plugin loads once it is mended", async (t) => {
  const host = await startHost(t, { plugins: { plug: trusted("plug", "throw new TypeError('no')") } });
  t.match(await host.load("plug"), { status: 500, body: { code: "load_failed", msg: /no/ } });
  host.install("plug", trusted("plug", version("mended")));
  t.match(await host.load("plug"), { status: 200 });
  t.equal(await host.result("plug", "version"), "mended");
});

t.test("requires decides the order; what is missing, failed, too old or circular fails alone", async (t) => {
  const order = "globalThis.loadOrder ??= [];";
  const noting = (name: string, extra: object = {}) =>
    trusted(
      name,
      `${order} export default { actions: { order: () => globalThis.loadOrder }, onLoad: () => void globalThis.loadOrder.push("${name}") };`,
      { ...extra },
    );
  t.teardown(() => delete (globalThis as { loadOrder?: unknown }).loadOrder);
  const host = await startHost(t, {
    plugins: {
      app: noting("app", { requires: ["lib", { name: "base", version: "^1.0.0" }] }),
      base: noting("base"),
      lib: noting("lib", { requires: ["base"] }),
      lonely: noting("lonely", { requires: ["missing"] }),
      follower: noting("follower", { requires: ["lonely"] }),
      old: noting("old", { requires: [{ name: "base", version: ">=2" }] }),
      round: noting("round", { requires: ["trip"] }),
      trip: noting("trip", { requires: ["round"] }),
      self: noting("self", { requires: ["self"] }),
      broken: trusted("broken", "throw 1"),
      onBroken: noting("onBroken", { requires: ["broken"] }),
    },
  });
  t.same(await host.result("app", "order"), ["base", "lib", "app"]);
  const codes = Object.fromEntries(
    ["lonely", "follower", "old", "onBroken"]
      .map((name) => [name, "requirement_missing"])
      .concat(["round", "trip", "self"].map((name) => [name, "requirement_cycle"])),
  ) as Record<string, string>;
  for (const [name, code] of Object.entries(codes)) {
    t.match(await host.status(name), { state: "error", error_code: code }, name);
  }
});

t.test(
  "bad descriptors, a name of ipc, duplicates and missing entry points fail alone, with the reason in status",
  async (t) => {
    const good = trusted("good", version("good"));
    const host = await startHost(t, {
      plugins: {
        good,
        mode: trusted("mode", version(""), { execution_mode: "superuser" }),
        ipc: trusted("ipc", version("")),
        other: trusted("good", version("an impostor")),
        entry: trusted("entry", version(""), { entry_point: "src/absent.js" }),
        escape: trusted("escape", version(""), { entry_point: "../good/src/main.mjs" }),
        unnamed: { descriptor: { version: "1.0.0" }, files: {} },
        versionless: { descriptor: { name: "versionless" }, files: {} },
        slash: trusted("a/b", version("")),
        bomb: { descriptor: "a: &a [x,x]\nb: &b [*a,*a]\nname: bomb\nversion: 1\nc: *unknown\n", files: {} },
        empty: { descriptor: "", files: {} },
      },
      files: { "plugins/none/readme": "a folder without a descriptor", "plugins/file": "no folder" },
    });
    const { body } = await host.system("GET", "/plugin/ipc/status");
    const codes = (body.plugins as { name: string; state: string; error_code: string; error?: string }[])
      .filter(({ state }) => state === "error")
      .map((plugin) => [plugin.name, plugin.error_code]);
    t.same(Object.fromEntries(codes), {
      mode: "descriptor_invalid",
      ipc: "name_reserved",
      good: "name_duplicate",
      entry: "entry_missing",
      escape: "descriptor_invalid",
      unnamed: "descriptor_invalid",
      versionless: "descriptor_invalid",
      slash: "descriptor_invalid",
      bomb: "descriptor_invalid",
      empty: "descriptor_invalid",
      none: "descriptor_invalid",
    });
    t.equal(await host.result("good", "version"), "good");
    t.ok((body.plugins as { error?: string; state: string }[]).every(({ state, error }) => state !== "error" || error));
  },
);

t.test("a plugin's data is the host's store where every release links to it", async (t) => {
  const host = await startHost(t);
  const source = actions(
    `write: (text, { dataDir }) => writeFileSync(dataDir + "/note", text), read: (_p, { dataDir }) => readFileSync(dataDir + "/note", "utf8")`,
    `import { readFileSync, writeFileSync } from "node:fs";`,
  );
  host.install("plug", sandboxed("plug", source));
  mkdirSync(host.path(".sealift/releases/plugin-plug/r1/plugins"), { recursive: true });
  mkdirSync(host.path(".sealift/data/plugins/plug"), { recursive: true });
  mkdirSync(host.path(".sealift/current"), { recursive: true });
  renameSync(host.path("plugins/plug"), host.path(".sealift/releases/plugin-plug/r1/plugins/plug"));
  symlinkSync("../releases/plugin-plug/r1", host.path(".sealift/current/plugin-plug"));
  symlinkSync("../.sealift/current/plugin-plug/plugins/plug", host.path("plugins/plug"));
  symlinkSync("../../../../../data/plugins/plug", host.path(".sealift/releases/plugin-plug/r1/plugins/plug/data"));
  writeFileSync(host.path(".sealift/data/plugins/plug/note"), "from before");
  t.match(await host.load("plug"), { status: 200 });
  t.equal(await host.result("plug", "read"), "from before");
  await host.result("plug", "write", "from the sandbox");
  t.equal(readFileSync(host.path(".sealift/data/plugins/plug/note"), "utf8"), "from the sandbox");
});
