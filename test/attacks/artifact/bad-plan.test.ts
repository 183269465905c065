// Only in test:all: each of its archives is published, and refused by a host, 6 s of a processor.
import t from "tap";
import { projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a signed plan is refused as a whole, before its first step, when anything in it is wrong", async (t) => {
  const host = await attackedHost(t);
  const invalid = { code: "plan_invalid" } as const;
  const install = "  - { id: install, action: install_plugin, plugin: demo }\n";
  const plans = {
    "an unknown key in a step": "  - { id: install, action: install_plugin, plugin: demo, run: reboot }\n",
    "an unknown action": `${install}  - { id: sh, action: shell, command: reboot }\n`,
    "a step that depends on itself": "  - { id: a, action: prepare, depends_on: [a] }\n",
    "a cycle of three":
      "  - { id: a, action: prepare, depends_on: [c] }\n  - { id: b, action: extract, depends_on: [a] }\n" +
      "  - { id: c, action: download, depends_on: [b] }\n",
    "a dependency that is not a step": "  - { id: a, action: prepare, depends_on: [nowhere] }\n",
    "two steps of one id": `${install}${install}`,
    "an unknown plugin": "  - { id: install, action: install_plugin, plugin: ghost }\n",
    "an unknown extension": "  - { id: install, action: install_extension, extension: ghost }\n",
    "a source that leads out": "  - { id: install, action: install_plugin, plugin: demo, source: ../../../etc }\n",
    "an absolute source": "  - { id: install, action: install_plugin, plugin: demo, source: /etc }\n",
    "a template that leads out": `${install}  - { id: env, action: write_env, plugin: demo, from: ../../../etc/passwd }\n`,
    "an install after a healthcheck":
      "  - { id: check, action: healthcheck }\n  - { id: install, action: install_plugin, plugin: demo, depends_on: [check] }\n",
    "no step at all": "  []\n",
    "a duplicate key": "  - { id: a, action: prepare, action: extract }\n",
    "a YAML tag": "  - !!js/function { id: a, action: prepare }\n",
  };
  for (const [what, plan] of Object.entries(plans)) {
    await t.test(what, (t) => host.refusesProject(t, { plan }, invalid));
  }
  await t.test("an unknown key at the top", (t) =>
    host.refusesProject(t, { plan: `${install}hooks: [reboot]\n` }, invalid),
  );
  await t.test("an expansion bomb", (t) => {
    const lines = ["  a0: &a0 [x, x, x, x, x, x, x, x, x]"];
    for (let i = 1; i < 12; i++)
      lines.push(
        `  a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(", ")}]`,
      );
    return host.refusesProject(t, { plan: `${install}bomb:\n${lines.join("\n")}\n` }, invalid);
  });
  await t.test("no plan at all", async (t) => {
    const version = host.nextVersion();
    const project = host.describe(version, { files: { "deployment/install.yaml": "" } });
    await host.publish(version, host.seal(projectTar(project)));
    await host.refuses(t, version, invalid);
  });
  await t.test("steps that need a supervisor, with none", (t) =>
    host.refusesProject(
      t,
      { plan: `${install}  - { id: start, action: start, plugin: demo }\n` },
      { code: "needs_supervisor", kind: "DeploymentError", exitCode: 2 },
    ),
  );
});
