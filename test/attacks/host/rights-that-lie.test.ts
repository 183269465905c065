/** Releases that try to get more rights than the running one without anybody being asked. */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../lib/agent/deployment/run.ts";
import { type Given, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const HARMLESS = "name: a\nversion: 1.0.0\n";
const GREEDY = "name: a\nversion: 2.0.0\nnetwork: true\n";

async function attacked(t: Test, first: Record<string, string> = {}) {
  const root = temporaryFolder(t);
  const run = (version: string, steps: string, given: Given, options: Partial<DeployOptions> = {}) =>
    deploy(
      sourceOf(version, steps, given),
      { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" }, ...options },
      () => undefined,
    );
  const files = { "plugins/a/plugin.yaml": HARMLESS, ...first };
  t.match(await run("1.0.0", INSTALL, { files }), { outcome: "deployed" });
  return {
    root,
    upgrade: async (files: Record<string, string>, steps = INSTALL, options: Partial<DeployOptions> = {}) =>
      (await run("2.0.0", steps, { files }, options)).error,
  };
}

t.test("the folder that the plan installs is compared, not the one of the manifest", async (t) => {
  const { upgrade } = await attacked(t);
  const files = { "plugins/a/plugin.yaml": HARMLESS, "other/plugin.yaml": GREEDY };
  const steps = "\n  - {id: install, action: install_plugin, plugin: a, source: other}";
  t.match(await upgrade(files, steps), { code: "rights_held", faults: ["a: network: all"] });
});

t.test("a descriptor that a provisioner makes is compared as well", async (t) => {
  const { upgrade, root } = await attacked(t);
  const files = { "plugins/a/plugin.yaml": HARMLESS, "plugins/a/built.yaml": GREEDY };
  const steps = `${INSTALL}\n  - {id: build, action: provision, plugin: a, depends_on: [install]}`;
  const provisioners = { a: { command: ["cp", "built.yaml", "plugin.yaml"], env: {}, timeout: 30 } };
  t.match(await upgrade(files, steps, { provisioners }), { code: "rights_held", faults: ["a: network: all"] });
  t.equal(await readFile(join(root, "plugins/a/plugin.yaml"), "utf8"), HARMLESS, "what runs stays");
});

t.test("no provisioner runs for a version that is held", async (t) => {
  const { upgrade, root } = await attacked(t);
  const steps = `${INSTALL}\n  - {id: build, action: provision, plugin: a, depends_on: [install]}`;
  const provisioners = { a: { command: ["touch", join(root, "ran")], env: {}, timeout: 30 } };
  t.match(await upgrade({ "plugins/a/plugin.yaml": GREEDY }, steps, { provisioners }), { code: "rights_held" });
  await t.rejects(readFile(join(root, "ran")), { code: "ENOENT" });
});

t.test("a plugin that has rewritten the descriptor it runs with does not raise what it is compared with", async (t) => {
  const { upgrade, root } = await attacked(t);
  const descriptor = join(root, "plugins/a/plugin.yaml");
  await chmod(descriptor, 0o644);
  await writeFile(descriptor, GREEDY);
  t.match(await upgrade({ "plugins/a/plugin.yaml": GREEDY }), { code: "rights_held", faults: ["a: network: all"] });
});

t.test("another name is asked about: what is granted goes by it", async (t) => {
  const { upgrade } = await attacked(t);
  t.match(await upgrade({ "plugins/a/plugin.yaml": "name: trusted-friend\nversion: 2.0.0\n" }), {
    code: "rights_held",
    faults: [/name: trusted-friend instead of a/],
  });
});

t.test("a descriptor that cannot be read is held, not taken for one that asks for nothing", async (t) => {
  const texts = {
    "not YAML": "name: [",
    "a key twice": `${HARMLESS}network: false\nnetwork: true\n`,
    "too large": `${GREEDY}# ${"x".repeat(1024 * 1024)}\n`,
    "an unknown value": `${HARMLESS}execution_mode: root\n`,
  };
  const { upgrade } = await attacked(t);
  for (const [what, text] of Object.entries(texts))
    t.match(
      await upgrade({ "plugins/a/plugin.yaml": text }),
      { code: "rights_held", faults: [/cannot be read/] },
      what,
    );
});

t.test("rights cannot write into the terminal of the person who is asked", async (t) => {
  const { upgrade } = await attacked(t);
  const asks = `permissions: [{ resource: "cache\\u001b[2K\\rharmless", actions: [get] }]\n`;
  const error = await upgrade({ "plugins/a/plugin.yaml": `${HARMLESS}${asks}` });
  t.match(error, { code: "rights_held" });
  t.notMatch(JSON.stringify(error), /\\u001b|\\r/);
});
