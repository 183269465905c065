import t from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { rollback } from "../../../../lib/agent/deployment/rollback.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../../lib/agent/deployment/run.ts";
import { runtimeSupervisor } from "../../../../lib/agent/supervisors/runtime.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { KEY, startHost } from "../../../support/runtime/host.ts";

/** Deployments and rollbacks under a real runtime: what answers is what the agent says. */

const CHECKED = `${INSTALL}\n  - {id: up, action: restart, plugin: a}\n  - {id: ok, action: healthcheck, plugin: a}`;

const filesOf = (says: string): Record<string, string> => ({
  "plugins/a/plugin.yaml": 'name: a\nversion: "1"\nentry_point: main.mjs\nexecution_mode: trusted\n',
  "plugins/a/main.mjs": `export default { actions: { says: () => "${says}" } };`,
});

t.test("the version that answers is the one that was switched to, whatever the plans restart", async (t) => {
  const host = await startHost(t);
  const client = { runtimeUrl: host.url, pluginKey: KEY, timeoutMs: 10_000 };
  const options: DeployOptions = {
    ...{ ...DEPLOY_DEFAULTS, projectRoot: host.root, hostId: "host", durability: "none" },
    supervisor: { name: "runtime", make: (...args) => runtimeSupervisor(client, ...args) },
  };
  const run = (version: string, steps: string, files = filesOf(version), more: Partial<DeployOptions> = {}) =>
    deploy(sourceOf(version, steps, { files }), { ...options, ...more }, () => undefined);
  const back = () => rollback({ kind: "project", slug: TARGET.slice("project-".length) }, options, () => undefined);
  const said = (): Promise<string> => host.result("a", "says");

  t.match(await run("1.0.0", INSTALL), { outcome: "deployed" });
  await host.load("a");
  t.match(await run("2.0.0", CHECKED), { outcome: "deployed" });
  t.equal(await said(), "2.0.0");

  const warnings: string[] = [];
  const noRestart = `${INSTALL}\n  - {id: ok, action: healthcheck, plugin: a, retries: 5}`;
  const refused = await deploy(sourceOf("3.0.0", noRestart, { files: filesOf("3.0.0") }), options, (event) => {
    if (event.event === "warning") warnings.push(event.message);
  });
  t.match(refused, { outcome: "rolled_back", error: { code: "rolled_back", cause: { code: "old_release_runs" } } });
  t.match(warnings[0], /no step before it starts or restarts/, "it was told before");
  t.same(await readQuarantine(layoutOf(host.root), TARGET), [], "the plan is to blame, not the version");
  t.equal(await said(), "2.0.0");
  const same = await run("3.0.1", noRestart, filesOf("2.0.0"));
  t.match(same, { outcome: "deployed" }, "a plugin that has not changed need not be restarted");

  await run("4.0.0", CHECKED);
  t.equal(await said(), "4.0.0");
  t.match(await back(), { outcome: "deployed", version: "3.0.1" });
  t.equal(await said(), "2.0.0");
  t.match(await back(), { outcome: "deployed", version: "2.0.0" });
  t.match(await host.status("a"), { state: "loaded" });
});

t.test("a rollback to a version whose plan restarts nothing leaves its plugin running", async (t) => {
  const host = await startHost(t);
  const client = { runtimeUrl: host.url, pluginKey: KEY, timeoutMs: 10_000 };
  const options: DeployOptions = {
    ...{ ...DEPLOY_DEFAULTS, projectRoot: host.root, hostId: "host", durability: "none" },
    supervisor: { name: "runtime", make: (...args) => runtimeSupervisor(client, ...args) },
  };
  for (const [version, steps] of [["1.0.0", INSTALL] as const, ["1.1.0", CHECKED] as const])
    await deploy(sourceOf(version, steps, { files: filesOf(version) }), options, () => undefined);
  const slug = TARGET.slice("project-".length);
  const result = await rollback({ kind: "project", slug }, options, () => undefined);
  t.match(result, { outcome: "deployed", version: "1.0.0" });
  t.equal(await host.result("a", "says"), "1.0.0");
  const status = (await host.status("a")) as { release: string; state: string };
  t.match(status, { state: "loaded", release: /^1\.0\.0-/ });
});
