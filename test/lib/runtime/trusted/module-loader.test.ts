import t from "tap";
import { actions, startHost, trusted } from "../../../support/runtime/host.ts";

const ECHO = actions(`echo: (payload) => payload`);

t.test(
  "plugins are written as ES modules, CommonJS or TypeScript, and import sealift/sdk with nothing installed",
  async (t) => {
    const esm = `import { definePlugin } from "sealift/sdk"; export default definePlugin({ actions: { kind: () => "esm" } });`;
    const cjs = `const { definePlugin } = require("sealift/sdk"); module.exports = definePlugin({ actions: { kind: () => "cjs" } });`;
    const ts = `import { definePlugin, type PluginContext } from "sealift/sdk";
    export default definePlugin({ actions: { kind: (_payload: unknown, context: PluginContext): string => "ts " + context.plugin.name } });`;
    const forms: Record<string, [file: string, source: string, kind: string, packageJson?: string]> = {
      mjs: ["src/main.mjs", esm, "esm"],
      cjs: ["src/main.cjs", cjs, "cjs"],
      ts: ["src/main.ts", ts, "ts "],
      js: ["src/main.js", esm, "esm"],
      "js-cjs": ["src/main.js", cjs, "cjs"],
      "js-module": ["src/main.js", esm, "esm", '{"type":"module"}'],
      "js-commonjs": ["src/main.js", cjs, "cjs", '{"type":"commonjs"}'],
    };
    const plugins: Record<string, ReturnType<typeof trusted>> = {};
    for (const [form, [file, source, , packageJson]] of Object.entries(forms)) {
      for (const mode of ["trusted", "sandboxed"]) {
        const name = `${mode}-${form}`;
        const files = { [file]: source, ...(packageJson !== undefined && { "package.json": packageJson }) };
        plugins[name] = { descriptor: { name, version: "1.0.0", execution_mode: mode, entry_point: file }, files };
      }
    }
    // Of its own scope: what this repository's package.json says of `.js` files must not reach it.
    const host = await startHost(t, { plugins, files: { "package.json": "{}" } });
    for (const [form, [, , kind]] of Object.entries(forms)) {
      for (const mode of ["trusted", "sandboxed"]) {
        const name = `${mode}-${form}`;
        t.equal(await host.result(name, "kind"), form === "ts" ? kind + name : kind, name);
      }
    }
  },
);

t.test("CommonJS modules of a plugin are loaded anew, and nothing of the old ones is kept", async (t) => {
  const plugin = (text: string) => ({
    descriptor: { name: "plug", version: "1.0.0", execution_mode: "trusted", entry_point: "main.cjs" },
    files: {
      "main.cjs": `const { text } = require("./text.cjs"); exports.actions = { text: () => text };`,
      "text.cjs": `exports.text = "${text}";`,
    },
  });
  const host = await startHost(t, { plugins: { plug: plugin("one") } });
  t.equal(await host.result("plug", "text"), "one");
  for (let round = 0; round < 20; round++) {
    host.install("plug", plugin(`round ${round}`));
    await host.reload("plug");
    t.equal(await host.result("plug", "text"), `round ${round}`);
  }
  t.notOk("generations" in (await host.status("plug")), "no ES module of it is held");
  const { createRequire } = await import("node:module");
  const { cache } = createRequire(import.meta.url);
  const own = Object.keys(cache).filter((path) => path.startsWith(host.path("plugins")));
  t.equal(own.length, 2);
  await host.unload("plug");
  t.equal(Object.keys(cache).filter((path) => path.startsWith(host.path("plugins"))).length, 0);
  const children = Object.values(cache).flatMap((module) => module?.children ?? []);
  t.equal(children.filter(({ filename }) => filename.startsWith(host.path("plugins"))).length, 0);
});

t.test("generations of ES modules and their bytes are counted, and too many turn health to degraded", async (t) => {
  const host = await startHost(t, {
    plugins: { plug: trusted("plug", ECHO) },
    configuration: { plugins: { max_generation_bytes: Buffer.byteLength(ECHO) * 3 } },
  });
  for (let round = 0; round < 2; round++) await host.reload("plug");
  t.match(await host.status("plug"), { generations: 3, generation_bytes: Buffer.byteLength(ECHO) * 3 });
  t.match((await host.system("GET", "/plugin/ipc/health")).body, { status: "healthy" });
  await host.reload("plug");
  const { status, body } = await host.system("GET", "/plugin/ipc/health");
  t.equal(status, 200);
  t.match(body, { status: "degraded", checks: { modules: { status: "degraded", message: /restart the runtime/ } } });
});
