import t from "tap";
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
  const source = actions(`
    read: async () => (await import("node:fs")).readFileSync("/etc/hostname"),
    ask: async () => { await fetch("http://127.0.0.1:4999/"); },
  `);
  const host = await startHost(t, { plugins: { plug: sandboxed("plug", source) } });
  t.match((await host.call("plug", "read")).body, { code: "action_failed", msg: /filesystem\.allowed_paths/ });
  t.match((await host.call("plug", "ask")).body, { code: "action_failed", msg: /network in plugin\.yaml/ });
});

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
  },
);
