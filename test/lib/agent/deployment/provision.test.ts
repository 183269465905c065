// In a process of its own: it changes its user.
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { installPlan, provisioners } from "../../../../lib/contract/files/install-plan.ts";
import { giveData } from "../../../../lib/releases/data-folders.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { listReleases } from "../../../../lib/releases/release.ts";
import { APP, appFiles, applicationHost, installing } from "../../../support/host/application-host.ts";
import { asNobody } from "../../../support/host/as-nobody.ts";
import { type Given, GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const PROVISION = "  - {id: prov, action: provision, plugin: a, depends_on: [install]}";
const STEPS = `${INSTALL}\n${PROVISION}`;

function host(t: Test) {
  const root = temporaryFolder(t);
  const warnings: string[] = [];
  const hear = (event: AgentEvent): void => void (event.event === "warning" && warnings.push(event.message));
  return {
    root,
    warnings,
    read: (path: string) => readFile(join(root, path), "utf8"),
    /** Deploys a version whose provisioner is a shell script. */
    run: (version: string, script: string, { steps = STEPS, key = "a", ...given }: Given & Steps = {}) => {
      const provisioners = { [key]: { command: ["sh", "-ec", script], env: {}, timeout: 20 } };
      const supervisor = { name: "none" as const };
      const options = {
        ...DEPLOY_DEFAULTS,
        projectRoot: root,
        hostId: "host",
        supervisor,
        provisioners,
      };
      return deploy(sourceOf(version, steps, given), options, hear);
    },
  };
}

interface Steps {
  steps?: string;
  key?: string;
}

const TELL =
  'for name in DATA ENV_FILE ROOT VERSION PREVIOUS_VERSION; do eval echo "$name=\\$PROVISION_$name"; done >told';

t.test("a provisioner is told the versions, the project root, the host's data and its settings", async (t) => {
  const h = host(t);
  const facts = (version: string, previous: string): string =>
    `DATA=${h.root}/.sealift/data/plugins/a\nENV_FILE=${h.root}/plugins/a.env\nROOT=${h.root}\nVERSION=${version}\nPREVIOUS_VERSION=${previous}\n`;
  t.match(await h.run("1.0.0", TELL), { status: "success" });
  t.equal(await h.read("plugins/a/told"), facts("1.0.0", ""));
  t.match(await h.run("2.0.0", TELL), { status: "success" });
  t.equal(await h.read("plugins/a/told"), facts("2.0.0", "1.0.0"));
});

t.test("settings that are still to be placed are at the path that a provisioner is told", async (t) => {
  const h = host(t);
  const env = "  - {id: env, action: write_env, plugin: a, from: .env.template, depends_on: [install]}";
  const steps = `${INSTALL}\n${env}\n  - {id: prov, action: provision, plugin: a, depends_on: [env]}`;
  const files = { "plugins/a/.env.template": "PORT=80\n" };
  const script = 'cp "$PROVISION_ENV_FILE" told';
  t.match(await h.run("1.0.0", script, { steps, files }), { status: "success" });
  t.equal(await h.read("plugins/a/told"), "PORT=80\n");
  writeFileSync(join(h.root, "plugins/a.env"), "PORT=81\n");
  t.match(await h.run("2.0.0", script, { steps, files }), { status: "success" });
  t.equal(await h.read("plugins/a/told"), "PORT=81\n", "the host's own, once it has them");
});

t.test(
  "a migration in the new release's data/ fails instead of being lost, and works in the host's data",
  async (t) => {
    const h = host(t);
    const wrong = 'mkdir -p data/db; echo "$PROVISION_VERSION" >data/db/schema; echo x >data/only-$PROVISION_VERSION';
    t.match(await h.run("1.0.0", wrong), { status: "success" }, "the first one fills the host's data");
    t.match(await h.run("2.0.0", wrong), {
      outcome: "failed",
      error: {
        code: "provision_lost",
        message: /wrote data\/db\/schema in the new release/,
        hint: `$PROVISION_DATA, which is ${h.root}/.sealift/data/plugins/a.`,
      },
    });
    t.equal(await h.read("plugins/a/data/db/schema"), "1.0.0\n", "nothing was switched");
    const right = 'echo "$PROVISION_VERSION" >"$PROVISION_DATA/db/schema"';
    t.match(await h.run("2.0.0", right), { status: "success" });
    t.equal(await h.read("plugins/a/data/db/schema"), "2.0.0\n");
    t.match(await h.run("3.0.0", "echo new >data-of-mine"), { status: "success" }, "other files are the release's own");
    t.equal(await h.read("plugins/a/data/db/schema"), "2.0.0\n");
  },
);

t.test("files that a version ships as data, unlike the host's own, are named once", async (t) => {
  const h = host(t);
  const shipping = (text: string): Given => ({
    files: { "plugins/a/data/list": text, "plugins/a/data/sub/deep": text },
  });
  const steps = INSTALL;
  await h.run("1.0.0", "", { steps, ...shipping("one") });
  await h.run("1.1.0", "", { steps, ...shipping("one") });
  t.same(h.warnings, [], "what equals the host's is not news");
  await h.run("2.0.0", "", { steps, ...shipping("two") });
  t.match(h.warnings, [/keeps its own plugins\/a\/data\/list, plugins\/a\/data\/sub\/deep: what this version ships/]);
  t.equal(await h.read("plugins/a/data/list"), "one");
  await h.run("2.1.0", "", { steps, ...shipping("two") });
  t.equal(h.warnings.length, 1, "and what the version before shipped, too, was told then");
});

t.test("an application is provisioned as a plugin is, by the key apps/ID, and keeps its data", async (t) => {
  const h = await applicationHost(t);
  const deployed = (version: string, script: string, key = "apps/web") => {
    const steps = `${installing("web")}\n  - {id: prov, action: provision, app: web, depends_on: [install-web]}`;
    const source = sourceOf(version, steps, { files: appFiles("web", version, `${APP}data: var/db\n`) });
    return h.run(source, { provisioners: { [key]: { command: ["sh", "-ec", script], env: {}, timeout: 20 } } });
  };
  t.match(await deployed("1.0.0", TELL, "web"), {
    error: { code: "provisioner_missing", message: /provisions apps\/web/, hint: /Add apps\/web/ },
  });
  const writing = `${TELL}; mkdir -p var/db; echo $PROVISION_VERSION >var/db/schema`;
  t.match(await deployed("1.0.0", writing), { status: "success" });
  t.equal(
    await readFile(join(h.root, "apps/web/told"), "utf8"),
    `DATA=${h.root}/.sealift/data/apps/web\nENV_FILE=${h.root}/apps/web.env\nROOT=${h.root}\nVERSION=1.0.0\nPREVIOUS_VERSION=\n`,
  );
  // As its start does (`app prepare`), with what the release ships.
  await writeFile(join(h.root, ".sealift/data/apps/web/schema"), "1.0.0\n");
  t.match(await deployed("2.0.0", writing), {
    error: { code: "provision_lost", message: /apps\/web wrote var\/db\/schema/ },
  });
  t.equal(await h.version(), "1.0.0");
});

t.test("a plan that provisions neither or both, or keys that are neither, are refused", async (t) => {
  for (const names of [{}, { plugin: "a", app: "a" }]) {
    const steps = [{ id: "prov", action: "provision", ...names }];
    const result = installPlan.safeParse({ format_version: "1", project_id: "a", steps });
    t.match(result.error?.issues, [{ message: "names one plugin, or one app" }]);
  }
  const entry = { command: ["true"] };
  t.ok(provisioners.safeParse({ a: entry, "apps/web": entry }).success);
  for (const key of ["extensions/a", "apps/", "apps/../a"])
    t.notOk(provisioners.safeParse({ [key]: entry }).success, key);
});

t.test("npm ci as a provisioner installs what the lock file of a version names", async (t) => {
  const h = host(t);
  // Stands in for npm: it installs from a folder in place of a registry.
  const calls = await recordingProgram(t, "npm", "mkdir -p node_modules/tide; cp package-lock.json node_modules/tide/");
  const files = { "plugins/a/package-lock.json": "{}" };
  t.match(await h.run("1.0.0", "exec npm ci --omit=dev --ignore-scripts", { files }), { status: "success" });
  t.match(await calls(), ["ci --omit=dev --ignore-scripts"]);
  t.ok(existsSync(join(h.root, "plugins/a/node_modules/tide/package-lock.json")), "the release holds the packages");
});

t.test("a data folder that may not be written is named by its path in the project root", async (t) => {
  const h = host(t);
  const files = { "plugins/a/data/sub/file": "" };
  await h.run("1.0.0", "", { steps: INSTALL, files });
  const layout = layoutOf(h.root);
  const item = { section: "plugins", id: "a" } as const;
  const data = join(layout.data(item), "sub");
  rmSync(join(data, "file"));
  chmodSync(data, 0o555);
  const [{ name: release } = { name: "" }] = await listReleases(layout, TARGET);
  const error = await asNobody(h.root, () =>
    giveData(layout, TARGET, release, item).then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    ),
  );
  t.match(error, { code: "root_unusable", message: `${layout.data(item)}, or a folder in it, belongs to the user ` });
  t.notMatch(error?.message, /\/proc\/self/);
});
