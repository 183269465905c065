import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import t from "tap";
import { actions, type Host, isAlive, sandboxed, startHost, trusted, until } from "../../support/runtime/host.ts";

const version = (text: string): string =>
  actions(`
    version: () => ${JSON.stringify(text)},
    slow: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(${JSON.stringify(text)}), ms)),
  `);

const modes = { trusted, sandboxed };

/** Calls without a pause until `during` is over; returns every answer that was not a success, and the results seen. */
async function callsDuring(
  host: Host,
  during: () => Promise<unknown>,
): Promise<{ failed: unknown[]; seen: Set<string>; count: number }> {
  const failed: unknown[] = [];
  const seen = new Set<string>();
  let count = 0;
  let over = false;
  const caller = async (): Promise<void> => {
    while (!over) {
      const { status, body } = await host.call("plug", "version");
      count++;
      if (status === 200) seen.add((body as { result: string }).result);
      else failed.push(body);
    }
  };
  const callers = Promise.all([caller(), caller(), caller(), caller()]);
  await during();
  over = true;
  await callers;
  return { failed, seen, count };
}

for (const [mode, make] of Object.entries(modes)) {
  t.test(`a reload of a ${mode} plugin runs the new code, its relative imports included`, async (t) => {
    const host = await startHost(t);
    const source = `import { text } from "./text.mjs"; export default { actions: { version: () => text } };`;
    const plugin = make("plug", source);
    for (const text of ["one", "two", "three"]) {
      host.install("plug", { ...plugin, files: { ...plugin.files, "src/text.mjs": `export const text = "${text}";` } });
      t.match(await (text === "one" ? host.load("plug") : host.reload("plug")), { status: 200 });
      t.equal(await host.result("plug", "version"), text);
    }
  });

  t.test(
    `calls in flight on a ${mode} plugin finish on the old instance while new ones reach the new one`,
    async (t) => {
      const host = await startHost(t, { plugins: { plug: make("plug", version("old")) } });
      const slow = host.result("plug", "slow", { ms: 1000 });
      await new Promise((resolve) => setTimeout(resolve, 100));
      host.install("plug", make("plug", version("new")));
      t.match(await host.reload("plug"), { status: 200 });
      t.equal(await host.result("plug", "version"), "new");
      t.equal(await slow, "old");
    },
  );

  t.test(
    `a reload of a ${mode} plugin that fails leaves the old one serving and says why, and the next one works`,
    async (t) => {
      const host = await startHost(t, { plugins: { plug: make("plug", version("old")) } });
      const failures: Record<string, [code: string, source: string]> = {
        syntax: ["load_failed", "export default {"],
        throws: ["load_failed", `throw new Error("no way")`],
        onLoad: ["load_failed", `export default { actions: {}, onLoad: () => { throw new Error("no way"); } };`],
        unhealthy: ["unhealthy", `export default { actions: {}, healthCheck: () => false };`],
        nothing: ["load_failed", `export const something = 1; export default null;`],
      };
      for (const [name, [code, source]] of Object.entries(failures)) {
        host.install("plug", make("plug", source));
        const answer = await host.reload("plug");
        t.match(answer, { status: 500, body: { status: "error", code, msg: /the running version goes on: ./ } }, name);
        t.equal(await host.result("plug", "version"), "old", name);
        t.match(await host.status("plug"), { state: "loaded", error_code: code }, name);
      }
      host.install("plug", make("plug", version("new")));
      t.match(await host.reload("plug"), { status: 200 });
      t.equal(await host.result("plug", "version"), "new");
      t.notOk((await host.status("plug")).error);
    },
  );

  t.test(`an upgrade of a ${mode} plugin by a switched link fails no call under a constant load`, async (t) => {
    const host = await startHost(t);
    for (const text of ["one", "two"]) {
      host.install("plug", make("plug", version(text)));
      mkdirSync(host.path(".sealift/releases", text, "plugins"), { recursive: true });
      renameSync(host.path("plugins/plug"), host.path(".sealift/releases", text, "plugins/plug"));
    }
    const point = (text: string): void => {
      symlinkSync(`releases/${text}`, host.path(".sealift/next"));
      renameSync(host.path(".sealift/next"), host.path(".sealift/current"));
    };
    point("one");
    symlinkSync("../.sealift/current/plugins/plug", host.path("plugins/plug"));
    await host.load("plug");
    const { failed, seen, count } = await callsDuring(host, async () => {
      for (const text of ["two", "one", "two"]) {
        point(text);
        t.match(await host.reload("plug"), { status: 200 });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    t.same(failed, []);
    t.same([...seen].sort(), ["one", "two"]);
    t.ok(count > 20, `${count} calls`);
    t.equal(await host.result("plug", "version"), "two");
  });

  t.test(`a ${mode} plugin's hooks run in their order, and onUnload only after the last call`, async (t) => {
    const source = `
      import { appendFileSync, existsSync } from "node:fs";
      const note = (dir, text) => appendFileSync(dir + "/log", text + " ");
      const slow = async (_p, c) => {
        note(c.dataDir, "calling");
        while (!existsSync(c.dataDir + "/go")) await new Promise((r) => setTimeout(r, 10));
        note(c.dataDir, "called");
      };
      export default {
        actions: { slow },
        onLoad: (c) => note(c.dataDir, "load"),
        onReload: (c) => note(c.dataDir, "reload"),
        onUnload: (c) => note(c.dataDir, "unload"),
      };`;
    const host = await startHost(t, { plugins: { plug: make("plug", source) } });
    const log = (): string => readFileSync(host.path("plugins/plug/data/log"), "utf8").trim();
    t.equal(log(), "load");
    const call = host.result("plug", "slow");
    await until(() => log() === "load calling");
    await host.reload("plug");
    writeFileSync(host.path("plugins/plug/data/go"), "");
    await call;
    await until(() => log() === "load calling load reload called unload");
    await host.unload("plug");
    t.equal(log(), "load calling load reload called unload unload");
  });
}

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

t.test("a load that fails is a 500 with the reason, and the plugin loads once it is mended", async (t) => {
  const host = await startHost(t, { plugins: { plug: trusted("plug", "throw new TypeError('no')") } });
  t.match(await host.load("plug"), { status: 500, body: { code: "load_failed", msg: /no/ } });
  host.install("plug", trusted("plug", version("mended")));
  t.match(await host.load("plug"), { status: 200 });
  t.equal(await host.result("plug", "version"), "mended");
});

t.test("a plugin may change its mode with a reload", async (t) => {
  const host = await startHost(t, { plugins: { plug: trusted("plug", version("inside")) } });
  host.install("plug", sandboxed("plug", version("boxed")));
  await host.reload("plug");
  t.match(await host.status("plug"), { mode: "sandboxed", pid: Number });
  t.equal(await host.result("plug", "version"), "boxed");
  host.install("plug", trusted("plug", version("inside again")));
  await host.reload("plug");
  t.match(await host.status("plug"), { mode: "trusted", pid: undefined });
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

t.test("routes are gone after an unload, and those of the new version serve after a reload", async (t) => {
  const routes = (text: string, path: string) =>
    trusted(
      "plug",
      `export default { routes: [{ method: "GET", path: "${path}", handler: () => ({ text: "${text}" }) }] };`,
    );
  const host = await startHost(t, { plugins: { plug: routes("one", "/old") } });
  t.match(await host.request("GET", "/plugin/plug/old"), { status: 200, body: { text: "one" } });
  host.install("plug", routes("two", "/new"));
  await host.reload("plug");
  t.match(await host.request("GET", "/plugin/plug/old"), { status: 404, body: { code: "not_found" } });
  t.match(await host.request("GET", "/plugin/plug/new"), { status: 200, body: { text: "two" } });
  await host.unload("plug");
  t.match(await host.request("GET", "/plugin/plug/new"), { status: 404, body: { code: "not_loaded" } });
});

t.test("a refresh loads what is new, reloads what is loaded and lets go of what is gone", async (t) => {
  const host = await startHost(t, {
    plugins: {
      kept: trusted("kept", version("one")),
      gone: sandboxed("gone", version("")),
      bad: trusted("bad", "throw 1"),
    },
  });
  const { pid } = (await host.status("gone")) as { pid: number };
  host.install("kept", trusted("kept", version("two")));
  host.install("fresh", trusted("fresh", version("fresh")));
  host.install("bad", trusted("bad", version("mended")));
  rmSync(host.path("plugins/gone"), { recursive: true });
  await host.runtime.refresh();
  t.equal(await host.result("kept", "version"), "two");
  t.equal(await host.result("fresh", "version"), "fresh");
  t.equal(await host.result("bad", "version"), "mended");
  t.equal(await host.status("gone"), undefined);
  t.notOk(isAlive(pid));
});

t.test("closing lets calls in flight finish and leaves no process behind", async (t) => {
  const host = await startHost(t, {
    plugins: {
      one: sandboxed("one", version("one")),
      two: sandboxed("two", version("two")),
      in: trusted("in", version("in")),
    },
  });
  const pids = await Promise.all(
    ["one", "two"].map(async (name) => ((await host.status(name)) as { pid: number }).pid),
  );
  const calls = ["one", "in"].map((name) => host.result(name, "slow", { ms: 600 }));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await host.runtime.close();
  t.same(await Promise.all(calls), ["one", "in"]);
  for (const pid of pids) t.notOk(isAlive(pid));
});

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
