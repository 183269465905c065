import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { rollback } from "../../../../lib/agent/deployment/rollback.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../../lib/agent/deployment/run.ts";
import { readReports } from "../../../../lib/agent/reports/report.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { inspectTarget } from "../../../../lib/agent/target-status.ts";
import { HELD_RIGHTS } from "../../../../lib/contract/blame.ts";
import { consentTo } from "../../../../lib/releases/consent.ts";
import { readHeld } from "../../../../lib/releases/holds.ts";
import { readJournal } from "../../../../lib/releases/journal.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { currentName, listReleases } from "../../../../lib/releases/release.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { plant } from "../../../support/host/project-root.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

/** Parts of a `plugin.yaml` beside name and version. */
const ASKING = {
  nothing: "",
  host: "network: ['api.example.org:443']\n",
  more: "network: ['api.example.org:443', 'files.example.org:443']\n",
  variable: "environment: { optional: [TOKEN] }\n",
} as const;

const filesOf = (version: string, asks: string): Record<string, string> => ({
  "plugins/a/version": version,
  "plugins/a/plugin.yaml": `name: a\nversion: ${version}\n${asks}`,
});

function host(t: Test) {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const events: AgentEvent[] = [];
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  return {
    ...{ root, layout, events },
    deploy: (version: string, asks: string, more: Partial<DeployOptions> = {}) =>
      deploy(sourceOf(version, INSTALL, { files: filesOf(version, asks) }), { ...options, ...more }, (event) =>
        events.push(event),
      ),
    back: (more: Partial<DeployOptions> = {}) =>
      rollback({ kind: "project", slug: TARGET.slice("project-".length) }, { ...options, ...more }, () => undefined),
    running: () => readFile(join(root, "plugins/a/version"), "utf8"),
    held: () => readHeld(layout, TARGET, "rights"),
  };
}

t.test("an upgrade that asks for more is held until a person agrees to exactly that", async (t) => {
  const h = host(t);
  t.match(await h.deploy("1.0.0", ASKING.nothing), { outcome: "deployed" });
  const rights = ["a: network: api.example.org:443"];
  const held = await h.deploy("1.1.0", ASKING.host);
  t.match(held, { outcome: "failed", version: "1.1.0", error: { code: "rights_held", exitCode: 1, faults: rights } });
  t.match(held.error?.message, /1\.1\.0 asks for more rights than the running 1\.0\.0: a: network: api/);
  t.match(held.error?.hint, /sealift watch consent project:prj_\w+ --version 1\.1\.0/);
  t.match(
    h.events.findLast(({ event }) => event === "rights.more"),
    { version: "1.1.0", rights, accepted: false },
  );
  t.equal(await h.running(), "1.0.0");
  t.same(await readQuarantine(h.layout, TARGET), [], "the version is not condemned");
  t.equal(await readJournal(h.layout), undefined);
  t.equal((await listReleases(h.layout, TARGET)).length, 1, "nothing of it is left");
  const [report] = await readReports(h.layout, TARGET, 1);
  t.match(report, { status: "failed", code: "rights_held", running_version: "1.0.0" });
  t.ok(report?.error_message?.startsWith(HELD_RIGHTS), report?.error_message ?? "no message");
  t.match((await inspectTarget(h.layout, TARGET)).heldRights, { version: "1.1.0", rights });

  await consentTo(h.layout, TARGET, (await h.held())!);
  t.match(
    await h.deploy("1.2.0", ASKING.more),
    { error: { code: "rights_held" } },
    "a further one asks for still more",
  );
  t.same((await h.held())?.rights, ["a: network: api.example.org:443", "a: network: files.example.org:443"]);
  t.match(await h.deploy("1.1.1", ASKING.host), { outcome: "deployed" }, "another one for no more");
  t.equal(await h.held(), undefined);
});

t.test("a variable that is new holds nothing: the operator gives its value, or none", async (t) => {
  const h = host(t);
  await h.deploy("1.0.0", ASKING.nothing);
  t.match(await h.deploy("1.1.0", ASKING.variable), { outcome: "deployed" });
  t.equal(await h.held(), undefined);
});

t.test("a consent holds for the release that ran, and is forgotten with it", async (t) => {
  const h = host(t);
  await h.deploy("1.0.0", ASKING.nothing);
  await h.deploy("1.1.0", ASKING.host);
  await consentTo(h.layout, TARGET, (await h.held())!);
  t.match(await h.deploy("1.0.1", ASKING.nothing), { outcome: "deployed" });
  t.match(await h.deploy("1.1.0", ASKING.host), { error: { code: "rights_held" } });
});

t.test("neither a first installation nor a rollback is held, and --accept-rights takes everything", async (t) => {
  const h = host(t);
  t.match(await h.deploy("1.0.0", ASKING.more), { outcome: "deployed" }, "a first one");
  t.match(await h.deploy("1.1.0", ASKING.nothing), { outcome: "deployed" }, "less is not a question");
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" }, "a rollback");
  t.match(await h.deploy("1.1.1", ASKING.nothing), { outcome: "deployed" });
  t.match(await h.deploy("1.2.0", ASKING.more, { acceptRights: true }), { outcome: "deployed" });
  t.match(
    h.events.findLast(({ event }) => event === "rights.more"),
    { version: "1.2.0", accepted: true },
  );
});

t.test("a rollback to a release that is not known to have run here is held as an upgrade is", async (t) => {
  const h = host(t);
  t.match(await h.deploy("1.0.0", ASKING.more), { outcome: "deployed" });
  t.match(await h.deploy("1.1.0", ASKING.nothing), { outcome: "deployed" });
  await rm(join(h.layout.sealift, "state", `deployed-${TARGET}.json`));
  const held = await h.back();
  t.match(held, { outcome: "failed", version: "1.0.0", error: { code: "rights_held" } });
  t.match(held.error?.hint, /rollback project:prj_\w+ --to 1\.0\.0-\w+ --accept-rights/);
  t.equal(await h.running(), "1.1.0");
  t.match(await h.back({ acceptRights: true }), { outcome: "deployed", version: "1.0.0" });
});

t.test("a watch says once what is asked, fetches it once, and goes on after a consent", async (t) => {
  const { layout, root } = host(t);
  let fetched = 0;
  const target = givenTarget(root, {
    given: (version) => {
      const asks = version === "1.0.0" ? ASKING.nothing : ASKING.host;
      return {
        files: filesOf(version, asks),
        resolve: async () => {
          fetched++;
          return { version, identity: version };
        },
      };
    },
  });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed" });
  target.publish("1.1.0");
  await w.until("deploy.done", { outcome: "failed", code: "rights_held" });
  const rights = ["a: network: api.example.org:443"];
  t.match(await w.until("target.held"), { version: "1.1.0", reason: "rights", rights, message: /asks for more/ });
  for (let checks = 0; checks < 3; checks++) t.match(await w.until("check.scheduled"), { failures: 0 });
  t.equal(w.all("target.held").length, 1);
  t.equal(fetched, 2, "a held version is not fetched again");
  await consentTo(layout, TARGET, (await readHeld(layout, TARGET, "rights"))!);
  await w.until("deploy.done", { outcome: "deployed", version: "1.1.0" });
  t.equal(await readFile(join(root, "plugins/a/version"), "utf8"), "1.1.0");
});

t.test("an integration.yaml that a project ships is held when it grants more, or holds plugins less", async (t) => {
  const root = temporaryFolder(t);
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  const deployWith = (version: string, integration: string | undefined) => {
    const files = { ...filesOf(version, ""), ...(integration !== undefined && { "integration.yaml": integration }) };
    const source = sourceOf(version, INSTALL, { files });
    const keeping = {
      ...source,
      resolve: async (context: Parameters<typeof source.resolve>[0]) => {
        const resolved = await source.resolve(context);
        return {
          ...resolved,
          fetch: async (...parameters: Parameters<typeof resolved.fetch>) => ({
            ...(await resolved.fetch(...parameters)),
            keep: ["integration.yaml"],
          }),
        };
      },
    };
    return deploy(keeping, options, () => undefined);
  };
  const grants = (hosts: string) => `{ a: { network: [${hosts}] } }`;
  const first = `app: { port: 1 }\nplugins: { grants: ${grants("a.example:443")}, sandbox: { wall: required } }\n`;
  t.match(await deployWith("1.0.0", first), { outcome: "deployed" });
  t.match(await deployWith("1.1.0", first.replace("1", "2")), { outcome: "deployed" }, "the rest may change");
  const more = first.replace(grants("a.example:443"), grants("a.example:443, b.example:443"));
  t.match(await deployWith("1.2.0", more), {
    error: { code: "rights_held", faults: ['integration.yaml: plugins.grants.a.network: "b.example:443"'] },
  });
  t.match(await deployWith("1.3.0", first.replace("required", "off")), {
    error: {
      faults: [
        'integration.yaml: plugins.sandbox.wall: "off"',
        'integration.yaml: no longer plugins.sandbox.wall: "required"',
      ],
    },
  });
  t.match(await deployWith("1.4.0", "plugins: [\n"), { error: { faults: [/integration.yaml: cannot be read/] } });
  t.match(await deployWith("1.5.0", undefined), { error: { code: "rights_held" } }, "nor may it drop the wall with it");
});

t.test(
  "a first installation onto folders installed by hand needs no consent, also after one that failed late",
  async (t) => {
    const h = host(t);
    await plant(h.root, filesOf("by hand", ASKING.nothing));
    const failing = `${INSTALL}\n  - {id: late, action: restart, plugin: a}`;
    // It starts what was gone back to: one that hears of nothing is waited for, for a minute.
    await recordingProgram(t, "systemctl", `case $* in *restart*) ! grep -qr "1.0.0" ${h.root}/plugins/a/;; esac`);
    const supervisor = { name: "systemd" as const, make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }) };
    const options = { ...DEPLOY_DEFAULTS, projectRoot: h.root, hostId: "host", supervisor };
    const first = await deploy(sourceOf("1.0.0", failing, { files: filesOf("1.0.0", ASKING.more) }), options, () => {});
    t.match(first, { outcome: "rolled_back" });
    t.equal(await h.running(), "by hand");
    t.match(await currentName(h.layout, TARGET), /^adopted-/, "the folder is a release by now");
    t.match(await h.deploy("1.0.1", ASKING.more), { outcome: "deployed" });
  },
);
