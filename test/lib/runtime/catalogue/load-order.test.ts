import fc from "fast-check";
import t from "tap";
import { loadOrder } from "../../../../lib/runtime/catalogue/load-order.ts";

const plugin = (name: string, ...requires: string[]) => ({
  name,
  version: "1.2.0",
  requires: requires.map((text) => {
    const [required = "", version = "*"] = text.split("@");
    return { name: required, version };
  }),
});

t.test("the load order has each plugin after those it requires, and every plugin once", (t) => {
  const graph = fc.array(fc.uniqueArray(fc.nat(11), { maxLength: 3 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(graph, (requirements) => {
      const plugins = requirements.map((ids, index) => plugin(`p${index}`, ...ids.map((id) => `p${id}`)));
      const { waves, failed } = loadOrder(plugins);
      const placed = new Set<string>();
      for (const wave of waves) {
        for (const name of wave) {
          const { requires } = plugins.find((each) => each.name === name) as (typeof plugins)[number];
          if (!requires.every((required) => placed.has(required.name))) return false;
        }
        for (const name of wave) placed.add(name);
      }
      return placed.size + failed.size === plugins.length && [...placed].every((name) => !failed.has(name));
    }),
  );
  const { waves, failed } = loadOrder([
    plugin("a", "b@^1.0.0"),
    plugin("b"),
    plugin("c", "b@>=2"),
    plugin("d", "e"),
    plugin("e", "d"),
    plugin("f", "d"),
  ]);
  t.same(waves, [["b"], ["a"]]);
  t.same(Object.fromEntries([...failed].map(([name, { code }]) => [name, code])), {
    c: "requirement_missing",
    d: "requirement_cycle",
    e: "requirement_cycle",
    f: "requirement_cycle",
  });
  t.end();
});
