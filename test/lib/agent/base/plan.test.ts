import fc from "fast-check";
import t from "tap";
import { parsePlan } from "../../../../lib/agent/base/documents.ts";
import { checkSupervised, orderPlan, unnoticed } from "../../../../lib/agent/base/plan.ts";

const scope = { projectId: "prj_0123456789", plugins: new Set(["a", "b"]), extensions: new Set(["x"]) };
const plan = (steps: string, projectId = scope.projectId): string =>
  `format_version: "1"\nproject_id: ${projectId}\nversion: 1.0.0\nsteps:\n${steps}`;
const order = (steps: string) => orderPlan(parsePlan(plan(steps), "install.yaml", "artifact"), scope, "artifact");
const ids = (steps: readonly { id: string }[]): string[] => steps.map(({ id }) => id);

t.test("steps run in topological order, then as listed, around the one switch", async (t) => {
  const ordered = order(`
  - {id: check, action: healthcheck, plugin: a, depends_on: [up]}
  - {id: up, action: restart, plugin: a}
  - {id: down, action: stop, plugin: a}
  - {id: install-a, action: install_plugin, plugin: a, depends_on: [prep]}
  - {id: prep, action: prepare}
  - {id: tell, action: notify, event: done, depends_on: [check]}
  - {id: late-stop, action: stop, plugin: b}`);
  t.same(ids(ordered.fill), ["prep", "install-a"]);
  t.same(ids(ordered.stop), ["down"]);
  t.same(ids(ordered.after), ["up", "check", "tell", "late-stop"]);
});

t.test("defaults are those of the format", async (t) => {
  const [check] = order("\n  - {id: c, action: healthcheck}").after;
  t.match(check, { timeout: 30, retries: 3, depends_on: [], snapshot: false });
  const [spelled] = order('\n  - {id: c, action: healthcheck, timeout: "5m", retries: 0}').after;
  t.match(spelled, { timeout: 300, retries: 0 });
});

t.test("what is wrong with a plan is said with every fault", async (t) => {
  const bad = (steps: string, fault: RegExp, code = "plan_invalid") =>
    t.throws(() => order(steps), { kind: "ArtifactError", code, exitCode: 4, message: fault }, String(fault));
  bad("\n  - {id: a, action: install_plugin, plugin: a, shell: rm}", /shell/);
  bad("\n  - {id: a, action: run, command: rm}", /action/);
  bad("\n  - {id: A!, action: prepare}", /id/);
  bad("\n  - {id: a, action: prepare}\n  - {id: a, action: prepare}", /used twice/);
  bad("\n  - {id: a, action: prepare, depends_on: [zz]}", /zz/);
  bad("\n  - {id: a, action: prepare, depends_on: [b]}\n  - {id: b, action: prepare, depends_on: [a]}", /cycle/);
  bad("\n  - {id: a, action: prepare, depends_on: [a]}", /cycle/);
  bad("\n  - {id: a, action: install_plugin, plugin: stranger}", /stranger/);
  bad("\n  - {id: a, action: install_extension, extension: stranger}", /stranger/);
  bad("\n  - {id: a, action: install_app, app: a}", /application a, which is not in the artifact/);
  bad(
    "\n  - {id: a, action: install_plugin, plugin: a}\n  - {id: b, action: install_plugin, plugin: a}",
    /second time/,
  );
  bad(
    "\n  - {id: r, action: restart, plugin: a}\n  - {id: a, action: install_plugin, plugin: a, depends_on: [r]}",
    /after the switch/,
  );
  bad(
    "\n  - {id: r, action: start}\n  - {id: n, action: notify, event: e, depends_on: [r]}\n  - {id: a, action: provision, plugin: a, depends_on: [n]}",
    /after the switch/,
  );
  bad("\n  - {id: a, action: write_env, plugin: a, from: ../secret}", /from/);
  bad("\n  - {id: a, action: install_plugin, plugin: a, source: /etc}", /source/);
  bad("\n  - {id: a, action: healthcheck, timeout: 601}", /timeout/);
  bad("\n  - {id: a, action: healthcheck, timeout: 11m}", /timeout/);
  bad("\n  - {id: a, action: healthcheck, retries: 21}", /retries/);
  bad(" []", /steps/);
  t.throws(() => parsePlan("a: [", "install.yaml", "artifact"), { code: "plan_invalid" });
  t.throws(() => parsePlan(plan("\n  - {id: a, action: prepare}").replace('"1"', '"2"'), "f", "artifact"), {
    code: "plan_invalid",
  });
});

t.test("a local plan for the other kind of target names --kind", async (t) => {
  const service = parsePlan(plan("\n  - {id: a, action: install_extension, extension: a}"), "f", "local");
  t.throws(() => orderPlan(service, { ...scope, plugins: new Set(["a"]), extensions: new Set() }, "local"), {
    code: "config_invalid",
    message: /--kind service/,
  });
});

t.test("a plan of another project is refused", async (t) => {
  const other = parsePlan(plan("\n  - {id: a, action: prepare}", "prj_9999999999"), "f", "artifact");
  t.throws(() => orderPlan(other, scope, "artifact"), { code: "plan_mismatch", exitCode: 4 });
  t.throws(() => orderPlan(other, scope, "local"), { code: "config_invalid", exitCode: 2 });
});

t.test("without a supervisor a supervised step is refused, whatever its place", async (t) => {
  for (const action of ["start", "stop", "restart", "healthcheck"]) {
    const parsed = parsePlan(plan(`\n  - {id: a, action: ${action}}`), "f", "artifact");
    t.throws(() => checkSupervised(parsed, "none", "artifact"), { code: "needs_supervisor", exitCode: 2 });
    t.doesNotThrow(() => checkSupervised(parsed, "systemd", "artifact"));
  }
});

t.test("a supervisor that no step tells of a new release is a warning", async (t) => {
  const install = "\n  - {id: a, action: install_plugin, plugin: a}";
  const warning = (steps: string) => unnoticed(orderPlan(parsePlan(plan(steps), "f", "artifact"), scope, "artifact"));
  t.match(warning(install), /no start or restart step, so its supervisor is not told of this release/);
  for (const action of ["start", "stop", "restart"])
    t.equal(warning(`${install}\n  - {id: b, action: ${action}}`), undefined, action);
  t.equal(warning("\n  - {id: a, action: notify, event: done}"), undefined, "nothing is installed");
});

t.test("a health check that would see the version before is a warning", async (t) => {
  const install = "\n  - {id: a, action: install_plugin, plugin: a}";
  const warning = (...steps: string[]) =>
    unnoticed(
      orderPlan(
        parsePlan(plan(`${install}${steps.map((step, n) => `\n  - {id: s${n}, ${step}}`).join("")}`), "f", "artifact"),
        scope,
        "artifact",
      ),
    );
  const seesOld = /The step s\d checks .*, and no step before it starts or restarts that/;
  t.match(warning("action: healthcheck"), seesOld);
  t.match(warning("action: healthcheck, plugin: a"), seesOld);
  t.match(warning("action: healthcheck, plugin: a", "action: restart, plugin: a"), seesOld, "it comes too late");
  t.match(warning("action: restart, plugin: b", "action: healthcheck, plugin: a"), seesOld, "another plugin");
  t.equal(warning("action: restart, plugin: a", "action: healthcheck, plugin: a"), undefined);
  t.equal(warning("action: restart", "action: healthcheck, plugin: a"), undefined, "the project restarts all");
  t.equal(warning("action: start, plugin: a", "action: healthcheck"), undefined);
});

t.test("any acyclic plan keeps its dependencies in order", async () => {
  const graph = fc.integer({ min: 1, max: 12 }).chain((size) =>
    fc.tuple(
      fc.constant(size),
      fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 30 }),
      fc.shuffledSubarray(
        Array.from({ length: size }, (_, index) => index),
        { minLength: size, maxLength: size },
      ),
    ),
  );
  fc.assert(
    fc.property(graph, ([size, edges, listed]) => {
      const dependsOn = Array.from({ length: size }, () => new Set<number>());
      for (const [from, to] of edges) if (from < to) dependsOn[to]!.add(from);
      const steps = listed.map(
        (index) =>
          `\n  - {id: s${index}, action: prepare, depends_on: [${[...dependsOn[index]!].map((other) => `s${other}`).join(", ")}]}`,
      );
      const sorted = ids(order(steps.join("")).fill);
      return (
        sorted.length === size &&
        edges.every(([from, to]) => from >= to || sorted.indexOf(`s${from}`) < sorted.indexOf(`s${to}`))
      );
    }),
    { numRuns: 200 },
  );
});
