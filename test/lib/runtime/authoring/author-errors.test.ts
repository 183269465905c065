import t from "tap";
import { needs } from "../../../support/programs/optional.ts";
import { actions, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";

/** The messages for a plugin's author when something of the plugin is wrong. */

for (const [mode, make] of Object.entries({ trusted, sandboxed })) {
  t.test(`a syntax error of a ${mode} plugin is told with its file, line and column`, async (t) => {
    const cases: Record<string, [files: Record<string, string>, entry: string, place: RegExp]> = {
      module: [
        { "src/main.mjs": "export default {\n  actions: { a: () => 1 b },\n};" },
        "src/main.mjs",
        /^src\/main\.mjs:2:25: /,
      ],
      imported: [
        { "src/main.mjs": `import "./other.mjs";\nexport default {};`, "src/other.mjs": "\n\nconst = 1;" },
        "src/main.mjs",
        /^src\/other\.mjs:3:7: /,
      ],
      typescript: [
        { "src/main.ts": "const a: number = 1;\nexport const b: = 2;" },
        "src/main.ts",
        /^src\/main\.ts:2:17: /,
      ],
      commonjs: [{ "src/main.cjs": "const a = 1;\nfunction (" }, "src/main.cjs", /^src\/main\.cjs:2/],
      decorated: [
        { "src/main.mjs": `const own = () => {};\nexport default class {\n  @own\n  a() {}\n}` },
        "src/main.mjs",
        /^src\/main\.mjs:3:3: .*compiler/,
      ],
      "missing export": [
        { "src/main.mjs": `import { nope } from "./other.mjs";`, "src/other.mjs": "export const x = 1;" },
        "src/main.mjs",
        /^src\/main\.mjs:1:10: .*nope/,
      ],
    };
    const host = await startHost(t);
    for (const [name, [files, entry_point, place]] of Object.entries(cases)) {
      host.install(name.replace(" ", ""), { ...make(name.replace(" ", ""), "", { entry_point }), files });
      const { body } = await host.load(name.replace(" ", ""));
      t.match(body, { code: "load_failed", msg: place }, name);
    }
  });

  t.test(`every failing action of a ${mode} plugin has a line in the log, with its stack`, async (t) => {
    const source = actions(`bang: () => { throw new Error("on purpose"); }`);
    const host = await startHost(t, { plugins: { plug: make("plug", source) } });
    await host.call("plug", "bang");
    const line = host.logs.find(({ action }) => action === "bang");
    t.match(line, {
      plugin: "plug",
      code: "action_failed",
      msg: /the action bang failed: on purpose/,
      stack: /main\.mjs/,
    });
  });

  t.test(`stacks of a compiled ${mode} plugin name the lines that were written`, async (t) => {
    const { transform } = await import("esbuild");
    const written = `enum Kind { A }\n\nexport default {\n  actions: {\n    bang(): never {\n      throw new Error("on " + Kind[Kind.A]);\n    },\n  },\n};`;
    const options = {
      loader: "ts",
      sourcefile: "written.ts",
      sourcemap: "inline",
      minify: true,
      format: "esm",
    } as const;
    const { code } = await transform(written, options);
    const host = await startHost(t, { plugins: { plug: make("plug", code) } });
    await host.call("plug", "bang");
    t.match(
      host.logs.find(({ action }) => action === "bang"),
      { stack: /written\.ts:6:/ },
    );
  });
}

t.test("a denial names the permission that is missing", async (t) => {
  const source = actions(`read: (_p, { services }) => services.databases.main.query("SELECT 1")`);
  const host = await startHost(t, {
    plugins: { plug: sandboxed("plug", source) },
    configuration: { services: { databases: { main: { type: "sqlite", url: ":memory:" } } } },
  });
  t.match(await host.call("plug", "read"), {
    body: { code: "permission_denied", msg: /\{ resource: "database:main", actions: \[read\] \}/ },
  });
});

t.test(
  "a key of plugin.yaml that is nearly the contract's is a fault that says which; others are config",
  async (t) => {
    const source = actions(`config: (_p, { config }) => config`);
    const host = await startHost(t, {
      plugins: { own: sandboxed("own", source, { greeting: "hi", port: 8, envs: [] }) },
    });
    t.same(await host.result("own", "config"), { greeting: "hi", port: 8, envs: [] });
    const slips = {
      permisions: "permissions",
      entrypoint: "entry_point",
      executionMode: "execution_mode",
      resource: "resources",
    };
    for (const [slip, meant] of Object.entries(slips)) {
      host.install("slip", sandboxed("slip", source, { [slip]: [] }));
      t.match(await host.load("slip"), {
        body: { code: "descriptor_invalid", msg: new RegExp(`${slip}: .*did you mean ${meant}\\?`) },
      });
    }
  },
);

t.test("what the sandbox itself refused says so, and what to ask for", async (t) => {
  const source = actions(
    `
    read: async () => (await import("node:fs")).readFileSync("/etc/hostname"),
    fetch: async () => { await fetch("https://api.example.org/x"); },
    local: async () => { await fetch(new Request("http://[::1]:4999/")); },
    wrap: async () => { try { await fetch("https://api.example.org/x"); } catch ({ message }) { throw new Error("No: " + message); } },
    cause: async () => { try { await fetch("https://api.example.org/x"); } catch (cause) { throw new Error("No rates", { cause }); } },
    connect: async () => { await new Promise((done, fail) => connect(5432, "127.0.0.1", done).on("error", fail)); },
    port: async () => { await fetch("http://127.0.0.1:9/"); },
  `,
    `import { connect } from "node:net";`,
  );
  const loading = "await fetch('http://a.example:8080'); export default {};";
  const host = await startHost(t, { plugins: { plug: sandboxed("plug", source), late: sandboxed("late", loading) } });
  t.match((await host.call("plug", "read")).body, { code: "action_failed", msg: /filesystem\.allowed_paths/ });
  const advice = (destination: string): string =>
    `the plugin has no grant for ${destination}: name it under network in plugin.yaml, as in network: ["${destination}"], and have the operator grant it under plugins.grants`;
  const texts = {
    fetch: `fetch failed: ${advice("api.example.org:443")}`,
    local: `fetch failed: ${advice("[::1]:4999")}`,
    wrap: `No: fetch failed: ${advice("api.example.org:443")}`,
    cause: `No rates (${advice("api.example.org:443")})`,
    port: "fetch failed",
  };
  for (const [action, msg] of Object.entries(texts))
    t.strictSame((await host.call("plug", action)).body["msg"], msg, action);
  t.match((await host.call("plug", "connect")).body, { msg: `(${advice("127.0.0.1:5432")})` });
  t.match((await host.load("late")).body, { code: "load_failed", msg: `fetch failed: ${advice("a.example:8080")}` });
});

t.test(
  "a host that the grant does not name says so, and so does what is not HTTP",
  { skip: needs("bwrap") },
  async (t) => {
    const source = actions(
      `
    fetch: async () => { await fetch("https://b.example/x"); },
    get: async () => { await new Promise((done, fail) => get("http://b.example/x", done).on("error", fail)); },
    connect: async () => { await new Promise((done, fail) => connect(5432, "db.example", done).on("error", fail)); },
  `,
      `import { get } from "node:http"; import { connect } from "node:net";`,
    );
    const host = await startHost(t, {
      plugins: { plug: sandboxed("plug", source, { network: ["a.example:443"] }) },
      configuration: { plugins: { sandbox: { wall: "required" }, grants: { plug: { network: true } } } },
    });
    for (const [action, destination] of [
      ["fetch", "b.example:443"],
      ["get", "b.example:80"],
    ] as const)
      t.match((await host.call("plug", action)).body, {
        msg: new RegExp(`: the plugin has no grant for ${destination}: .*; the reason is in the runtime's log$`),
      });
    t.match((await host.call("plug", "connect")).body, {
      msg: /EAI_AGAIN db\.example \(.* by HTTP alone: .*network: true/,
    });
  },
);

t.test(
  "a native addon in a sandbox says that it needs the other mode, also within what a package throws",
  async (t) => {
    const source = `
    import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    try { require("./image.node"); } catch (error) { throw new Error("Could not load: " + error.message); }
    export default {};`;
    const host = await startHost(t);
    host.install("plug", { ...sandboxed("plug", source), files: { "src/main.mjs": source, "src/image.node": "" } });
    const msg = /Could not load: image\.node is a native addon.*need execution_mode: trusted/;
    t.match((await host.load("plug")).body, { code: "load_failed", msg });
    const hiding = source.replace('"Could not load: " + error.message', '"Try: npm install --include=optional"');
    host.install("hide", { ...sandboxed("hide", hiding), files: { "src/main.mjs": hiding, "src/image.node": "" } });
    const first = /^.*image\.node is a native addon.*trusted\. The plugin said: Try: npm install/;
    t.match((await host.load("hide")).body, { code: "load_failed", msg: first });
  },
);
