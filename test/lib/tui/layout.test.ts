import fc from "fast-check";
import t from "tap";
import { dashboardLayout, SMALLEST, windowStart } from "../../../lib/tui/layout.ts";
import { TABS } from "../../../lib/tui/navigation.ts";

t.test("everything fits on every screen that is not too small", async () => {
  const size = {
    columns: fc.integer({ min: SMALLEST.columns, max: 400 }),
    rows: fc.integer({ min: SMALLEST.rows, max: 150 }),
  };
  fc.assert(
    fc.property(
      size.columns,
      size.rows,
      fc.integer({ min: 1, max: 1000 }),
      fc.constantFrom(...TABS),
      (columns, rows, targets, tab) => {
        const { kind, views, targets: top, height } = dashboardLayout(columns, rows, targets, tab);
        const places = Object.values(views);
        const column = (names: readonly (keyof typeof views)[]) =>
          names.reduce((sum, name) => sum + (views[name]?.height ?? 0), 0);
        const tallest =
          kind === "tabs" ? column([tab]) : Math.max(column(["deployment", "history"]), column(["fleet", "events"]));
        return (
          kind !== "too small" &&
          views[tab] !== undefined &&
          2 + top.height + tallest === height &&
          height < rows &&
          top.height >= 3 &&
          places.every((place) => place.height >= 4 && place.width > 0) &&
          (kind === "tabs" || views.deployment!.width + 1 + views.fleet!.width === columns)
        );
      },
    ),
  );
});

t.test("a small screen shows one view, a large one all, a tiny one none", async (t) => {
  t.match(dashboardLayout(80, 24, 3, "fleet"), { kind: "tabs", views: { fleet: { width: 80 }, history: undefined } });
  t.equal(Object.keys(dashboardLayout(200, 50, 3, "fleet").views).length, 4);
  t.equal(dashboardLayout(60, 24, 3, "fleet").kind, "too small");
  t.equal(dashboardLayout(80, 12, 3, "fleet").kind, "too small");
});

t.test("the selected row is always among those shown", async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 500 }), fc.nat(), (page, rows, at) => {
      const selected = at % rows;
      const start = windowStart(selected, page, rows);
      return start >= 0 && start <= selected && selected < start + page;
    }),
  );
});
