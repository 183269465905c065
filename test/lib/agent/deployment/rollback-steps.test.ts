import t from "tap";
import { parsePlan } from "../../../../lib/agent/base/documents.ts";
import { notRestarted, rollbackSteps } from "../../../../lib/agent/deployment/rollback-steps.ts";
import type { SupervisorName } from "../../../../lib/agent/supervisors/supervisor.ts";
import type { Release } from "../../../../lib/releases/release.ts";

/** A release of these plugins with these steps, each `ACTION` or `ACTION PLUGIN`; `!` for before the switch. */
function release(plugins: readonly string[], ...steps: string[]): Release {
  const lines = steps.map((step, n) => {
    const [action, plugin] = step.replace("!", "").split(" ");
    return `  - {id: s${n}, action: ${action}${plugin === undefined ? "" : `, plugin: ${plugin}`}}\n`;
  });
  const none = "  - {id: none, action: prepare}\n";
  const text = `format_version: "1"\nproject_id: p\nversion: "1"\nsteps:\n${lines.join("") || none}`;
  const parsed = parsePlan(text, "plan", "artifact").steps.filter(({ id }) => id !== "none");
  const isBefore = (index: number): boolean => steps[index]!.startsWith("!");
  return {
    ...{ name: "r", version: "1", identity: null, content_sha256: null, created_at: "" },
    items: plugins.map((id) => ({ section: "plugins" as const, id })),
    steps: {
      stop: parsed.filter((_, index) => isBefore(index)),
      after: parsed.filter((_, index) => !isBefore(index)),
    },
  };
}

function planned(
  from: Release,
  to: Release,
  supervisor: SupervisorName = "systemd",
  { same = [], idle = [] }: { same?: readonly string[]; idle?: readonly string[] } = {},
) {
  const changed = (plugin: string): boolean => !same.includes(plugin);
  const { stop, after } = rollbackSteps(from, to, { changed, idle: new Set(idle) }, supervisor);
  const said = (steps: typeof after): string[] =>
    steps.map((step) => `${step.action} ${("plugin" in step && step.plugin) || "project"}`);
  return { before: said(stop), after: said(after) };
}

t.test("the release's own plan is enough where it restarts and checks what differs", async (t) => {
  const steps = ["restart a", "healthcheck a"];
  t.same(planned(release(["a"], ...steps), release(["a"], ...steps)), { before: [], after: steps });
});

t.test("a unit that only the release before has restarted is restarted, and checked last", async (t) => {
  t.same(planned(release(["a"], "restart a"), release(["a"])), { before: [], after: ["restart a", "healthcheck a"] });
  const own = planned(release(["a", "b"], "restart a"), release(["a", "b"], "restart b", "prepare"), "systemd");
  t.same(own.after.slice(0, 2), ["restart a", "restart b"]);
  t.same(own.after.slice(-2), ["healthcheck a", "healthcheck b"]);
});

t.test("a unit whose plugin is gone in the kept release is stopped before the switch", async (t) => {
  const plan = planned(release(["a", "new"], "restart a", "restart new"), release(["a"], "restart a", "healthcheck a"));
  t.same(plan, { before: ["stop new"], after: ["restart a", "healthcheck a"] });
});

t.test("a plugin that is the same in both is left alone", async (t) => {
  t.same(planned(release(["a"], "restart a"), release(["a"]), "systemd", { same: ["a"] }), { before: [], after: [] });
});

t.test("a runtime has a unit for every plugin, and a restart of the project is one of all of them", async (t) => {
  t.same(planned(release(["a", "b"], "restart a"), release(["a", "b"], "restart a"), "runtime").after, [
    "restart b",
    "restart a",
    "healthcheck b",
    "healthcheck a",
  ]);
  t.same(planned(release(["a", "c"]), release(["a"], "restart", "healthcheck"), "runtime"), {
    before: ["stop c"],
    after: ["restart project", "healthcheck project"],
  });
});

t.test("an idle plugin stays idle, unless one of the plans names it", async (t) => {
  const [from, to] = [release(["a", "b"], "restart a"), release(["a", "b"])];
  t.same(planned(from, to, "runtime", { idle: ["a", "b"] }).after, ["restart a", "healthcheck a"]);
});

t.test("a unit that the kept release's plan stops and does not start runs afterwards", async (t) => {
  const ran = release(["a"], "restart a");
  t.same(planned(ran, release(["a"], "!stop a")), { before: ["stop a"], after: ["restart a", "healthcheck a"] });
  t.same(planned(ran, release(["a"], "stop a")).after, ["stop a", "restart a", "healthcheck a"]);
  const stopped = release(["a"], "stop a");
  t.same(planned(stopped, stopped).after, ["stop a"], "it did not run before either");
});

t.test("nothing is added without a supervisor, and an adopted release has no steps of its own", async (t) => {
  t.same(planned(release(["a"], "restart a"), release(["a"]), "none"), { before: [], after: [] });
  const { steps: _steps, ...adopted } = release(["a"]);
  t.same(planned(release(["a"], "restart a"), adopted).after, ["restart a", "healthcheck a"]);
});

t.test("without a supervisor it says what runs on, which applications do not", async (t) => {
  t.match(notRestarted(release(["echo"]), false), /^No supervisor is chosen, so nothing is restarted: 1 runs on/);
  t.match(notRestarted(undefined, false), /what ran before runs on/);
  t.match(notRestarted(release(["echo"]), true), /only applications are restarted: plugins of 1 run on/);
  t.equal(notRestarted(release([]), true), undefined);
});
