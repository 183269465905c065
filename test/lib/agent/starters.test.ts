import { join } from "node:path";
import t from "tap";
import { parsePlan } from "../../../lib/agent/base/documents.ts";
import { orderPlan, unnoticed } from "../../../lib/agent/base/plan.ts";
import { itemsOfSource, scopeOf, starterPlan } from "../../../lib/agent/starters.ts";

t.test("a plan to start from is valid, whatever it is for", (t) => {
  const tree = t.testdir({
    plugins: { a: { "plugin.yaml": "", ".env.template": "" }, b: { "plugin.yaml": "" }, notes: {} },
    extensions: { clock: {} },
    apps: { a: { "app.yaml": "" }, docs: {} },
  });
  const file = join(tree, "deployment/install.yaml");
  const items = itemsOfSource(file);
  t.match(items, [
    { id: "clock" },
    { id: "a", hasTemplate: true },
    { id: "b", hasTemplate: false },
    { section: "apps", id: "a" },
  ]);
  for (const supervised of [false, true]) {
    for (const given of [items, [{ section: "plugins" as const, id: "a" }]]) {
      const plan = parsePlan(starterPlan({ slug: "prj_1", items: given, supervised }), "install.yaml", "local");
      const ordered = orderPlan(plan, scopeOf(plan, undefined, "plugin"), "local");
      t.equal(unnoticed(ordered) === undefined, supervised);
    }
  }
  t.throws(() => itemsOfSource(join(tree, "install.yaml")), { code: "usage", message: /deployment\/install\.yaml/ });
  t.throws(() => itemsOfSource(join(tree, "plugins/deployment/install.yaml")), { code: "usage", message: /no plugin/ });
  t.end();
});

t.test("a plan of applications alone needs no steps that a supervisor carries out", (t) => {
  const text = starterPlan({ slug: "prj_1", items: [{ section: "apps", id: "web" }], supervised: true });
  const plan = parsePlan(text, "install.yaml", "local");
  const ordered = orderPlan(plan, scopeOf(plan, undefined, "plugin"), "local");
  t.strictSame(
    plan.steps.map(({ action }) => action),
    ["prepare", "install_app"],
  );
  t.equal(unnoticed(ordered), undefined);
  t.end();
});
