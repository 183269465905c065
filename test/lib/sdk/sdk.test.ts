import { readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { ACTION, ROUTE } from "../../../lib/sdk/decorators.ts";
import { PLUGIN } from "../../../lib/sdk/definition.ts";
import { action, defineAction, definePlugin, PayloadError, route } from "../../../lib/sdk/index.ts";

/** The SDK by itself; what the runtime makes of it is in test/lib/runtime/authoring/. */

const context = (name: string) => ({ kind: "method", name }) as unknown as ClassMethodDecoratorContext;

t.test("definePlugin describes a plugin and runs nothing of it", (t) => {
  const never = () => {
    throw new Error("it ran");
  };
  const plugin = definePlugin({
    actions: { typed: defineAction({ payload: z.object({ n: z.number() }), handler: ({ n }) => n.toFixed(1) }) },
    onLoad: never,
  });
  t.match(plugin, { onLoad: never, [PLUGIN]: 1 });
  t.end();
});

t.test("the decorators mark methods, with their own name unless another is given, and leave them as they are", (t) => {
  const method = () => 1;
  t.equal(action()(method, context("greet")), method);
  t.same((method as { [ACTION]?: unknown })[ACTION], { name: "greet" });
  const named = () => 1;
  action("say-hello")(named, context("hello"));
  t.match((named as { [ACTION]?: unknown })[ACTION], { name: "say-hello" });
  const page = () => 1;
  route({ method: "GET", path: "/", permissions: ["x"] })(page, context("page"));
  t.match((page as { [ROUTE]?: unknown })[ROUTE], { method: "GET", path: "/", permissions: ["x"] });
  t.end();
});

t.test("a PayloadError carries the code that is answered with 400", (t) => {
  t.match(new PayloadError("no"), { name: "PayloadError", code: "payload_invalid", message: "no" });
  t.end();
});

t.test("the SDK imports nothing at run time, so that a sandbox needs to read nothing else for it", (t) => {
  const folder = new URL("../../../lib/sdk/", import.meta.url);
  for (const file of readdirSync(folder)) {
    const imports = readFileSync(new URL(file, folder), "utf8").matchAll(
      /^(?:import|export) (?!type)[^;]*? from "([^"]+)"/gms,
    );
    for (const [, specifier] of imports) t.match(specifier, /^\.\/[a-z]+\.ts$/, `${file}: ${specifier}`);
  }
  t.end();
});
