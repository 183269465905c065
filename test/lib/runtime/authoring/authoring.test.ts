import { transformSync } from "esbuild";
import t from "tap";
import { z } from "zod";
import { readPlugin } from "../../../../lib/runtime/guest/definition.ts";
import { defineAction, definePlugin, PayloadError } from "../../../../lib/sdk/index.ts";
import { type PluginSource, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";

/** Every form of a plugin, run for real in both modes. */

const modes: Record<string, (name: string, source: string, extra?: Record<string, unknown>) => PluginSource> = {
  trusted,
  sandboxed,
};

const CLASS = transformSync(
  `
  import { action, route, type PluginContext } from "sealift/sdk";
  import { z } from "zod";

  class Base {
    @action() inherited() { return "inherited by " + this.name; }
    name = "base";
  }
  export default class Greeter extends Base {
    override name = "greeter";
    #greetings = 0;
    onLoad(context: PluginContext<{ greeting: string }>) { this.greeting = context.config.greeting; }
    greeting = "";

    @action() count() { return ++this.#greetings; }
    @action("say-hello") hello(payload: { name: string }) { return this.greeting + " " + payload.name; }
    @action({ payload: z.object({ n: z.number() }) }) double({ n }: { n: number }) { return n * 2; }
    notAnAction() { return "never"; }
    @route({ method: "GET", path: "/hello/:name" }) async page(request: { params: { name: string } }) { return { text: this.greeting + " " + request.params.name }; }
    @route({ method: "GET", path: "/closed", permissions: ["x"] }) closed() { return "closed"; }
    healthCheck() { return { status: "healthy", message: this.name }; }
  }`,
  { loader: "ts", format: "esm", target: "es2022" },
).code;

for (const [mode, make] of Object.entries(modes)) {
  t.test(`a class with standard decorators is a ${mode} plugin`, async (t) => {
    const host = await startHost(t, { plugins: { greeter: make("greeter", CLASS, { greeting: "Hi" }) } });
    t.equal(await host.result("greeter", "count"), 1);
    t.equal(await host.result("greeter", "count"), 2, "the instance is one");
    t.equal(await host.result("greeter", "say-hello", { name: "Ada" }), "Hi Ada");
    t.equal(await host.result("greeter", "inherited"), "inherited by greeter");
    t.equal(await host.result("greeter", "double", { n: 21 }), 42);
    t.match(await host.call("greeter", "double", { n: "x" }), { status: 400, body: { code: "payload_invalid" } });
    for (const name of ["notAnAction", "constructor", "onLoad", "healthCheck"])
      t.match(await host.call("greeter", name), { status: 404 }, name);
    t.match(await host.system("GET", "/plugin/ipc/health"), {
      body: { checks: { "plugin:greeter": { message: "greeter" } } },
    });
    if (mode === "sandboxed") return;
    t.same((await host.request("GET", "/plugin/greeter/hello/Ada")).body, { text: "Hi Ada" });
    t.equal((await host.request("GET", "/plugin/greeter/closed")).status, 401);
  });

  t.test(
    `a ${mode} plugin's payload schemas, zod or JSON Schema, answer 400 with every fault and pass on what they made`,
    async (t) => {
      const source = `
      import { defineAction, definePlugin, PayloadError } from "sealift/sdk";
      import { z } from "zod";
      const json = { type: "object", properties: { n: { type: "integer", minimum: 1 }, tag: { enum: ["a", "b"] }, list: { type: "array", items: { type: "string" } } }, required: ["n"], additionalProperties: false };
      const standard = { "~standard": { version: 1, vendor: "mine", validate: async (value) => value.ok ? { value: { ...value, checked: true } } : { issues: [{ message: "is not ok", path: ["ok"] }] } } };
      export default definePlugin({ actions: {
        zod: defineAction({ payload: z.object({ n: z.coerce.number(), d: z.string().default("x") }), handler: (payload) => payload }),
        json: { payload: json, handler: (payload) => payload },
        standard: { payload: standard, handler: (payload) => payload },
        own: () => { throw new PayloadError("not this one"); },
      } });`;
      const host = await startHost(t, { plugins: { plug: make("plug", source) } });
      t.same(await host.result("plug", "zod", { n: "7", extra: 1 }), { n: 7, d: "x" });
      t.match(await host.call("plug", "zod", { n: "x", d: 1 }), {
        status: 400,
        body: { code: "payload_invalid", msg: /n: .*; d: / },
      });
      t.same(await host.result("plug", "json", { n: 1, tag: "a", list: ["x"] }), { n: 1, tag: "a", list: ["x"] });
      for (const payload of [
        {},
        { n: 0 },
        { n: 1.5 },
        { n: 1, tag: "c" },
        { n: 1, list: [1] },
        { n: 1, more: 1 },
        [],
        "text",
      ]) {
        t.match(
          await host.call("plug", "json", payload),
          { status: 400, body: { code: "payload_invalid" } },
          JSON.stringify(payload),
        );
      }
      t.same(await host.result("plug", "standard", { ok: true }), { ok: true, checked: true });
      t.match(await host.call("plug", "standard", { ok: false }), { status: 400, body: { msg: /ok: is not ok/ } });
      t.match(await host.call("plug", "own"), { status: 400, body: { code: "payload_invalid", msg: "not this one" } });
    },
  );

  t.test(`a ${mode} plugin's own keys are checked by its schema before anything of it runs`, async (t) => {
    const json = `{ type: "object", required: ["greeting"], properties: { greeting: { type: "string" } } }`;
    const schemas: Record<string, string> = {
      zod: `z.object({ greeting: z.string(), times: z.number().default(1) })`,
      json,
    };
    const sourceOf = (schema: string): string => `
      import { z } from "zod";
      const actions = { config: (_payload, context) => context.config };
      export default { config: ${schema}, actions, onLoad: ({ config }) => { config.greeting.trim(); } };`;
    for (const [name, schema] of Object.entries(schemas)) {
      const host = await startHost(t, { plugins: { plug: make("plug", sourceOf(schema), { greeting: "Hi" }) } });
      const made = name === "zod" ? { greeting: "Hi", times: 1 } : { greeting: "Hi" };
      t.strictSame(await host.result("plug", "config"), made, name);
    }
    const host = await startHost(t, {
      plugins: {
        wrong: make("wrong", sourceOf(schemas["zod"]!), { greeting: 5, times: "many" }),
        missing: make("missing", sourceOf(json)),
        unusable: make("unusable", sourceOf(`"greeting"`), { greeting: "Hi" }),
        class: make("class", `export default class { static config = ${json}; onLoad() {} }`, { greeting: 5 }),
      },
    });
    for (const [name, msg] of Object.entries({
      wrong: /own keys in plugin\.yaml do not fit its schema: greeting: .+; times: .+ Correct them there\./,
      missing: /do not fit its schema: greeting: /,
      unusable: /config is not a schema/,
      class: /do not fit its schema: greeting: /,
    }))
      t.match(await host.load(name), { status: 500, body: { code: "load_failed", msg } }, name);
  });

  t.test(`a ${mode} plugin's context holds all that it is promised`, async (t) => {
    const source = `
      import { definePlugin } from "sealift/sdk";
      export default definePlugin({ actions: {
        context: (_payload, context) => {
          context.logger.info("a note", { of: "mine" });
          const { plugin, config, env, dataDir, requestId, signal, call, events, services } = context;
          return { plugin, config, env, dataDir, requestId, aborted: signal.aborted, kinds: [typeof call, typeof events.on, typeof events.emit, typeof services.cache.get], keys: Object.keys(services) };
        },
      } });`;
    const extra = { greeting: "hello", nested: { a: [1] }, env: { A: "1" } };
    const host = await startHost(t, { plugins: { plug: make("plug", source, extra) } });
    t.match(await host.result("plug", "context"), {
      plugin: { name: "plug", version: "1.0.0" },
      config: { greeting: "hello", nested: { a: [1] } },
      env: { A: "1" },
      dataDir: host.path("plugins/plug/data"),
      requestId: String,
      aborted: false,
      kinds: ["function", "function", "function", "function"],
      keys: ["databases", "cache", "extensions"],
    });
    t.ok(
      host.logs.some(
        ({ msg, plugin, fields }) => msg === "a note" && plugin === "plug" && (fields as { of?: string }).of === "mine",
      ),
    );
  });
}

t.test("definePlugin only describes, and types follow the schema", async (t) => {
  let ran = false;
  const definition = definePlugin({
    actions: {
      typed: defineAction({ payload: z.object({ n: z.number() }), handler: ({ n }) => n.toFixed(1) }),
      plain: (payload: { a: string }) => payload.a.length,
    },
    config: z.object({ greeting: z.string() }),
    healthCheck: ({ config }) => config.greeting.trim() !== "",
    onLoad: () => {
      ran = true;
    },
  });
  const plugin = await readPlugin({ default: definition });
  t.notOk(ran);
  t.same([...plugin.actions.keys()], ["typed", "plain"]);
  t.equal(new PayloadError("x").code, "payload_invalid");
});

t.test("a module that is not a plugin is refused with what to write instead", async (t) => {
  const bad: unknown[] = [
    undefined,
    null,
    1,
    "text",
    {},
    () => ({}),
    { actions: { x: 1 } },
    { actions: {}, onLoad: 1 },
    { actions: {}, routes: {} },
    { actions: { x: { handler: 1 } } },
    { actions: { x: { payload: { type: "nonsense" }, handler: () => 1 } } },
  ];
  for (const exported of bad)
    await t.rejects(
      readPlugin({ default: exported }),
      { code: "load_failed" },
      JSON.stringify(exported) ?? "a function",
    );
});
