import { access, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../../lib/agent/deployment/run.ts";
import type { Source } from "../../../../lib/agent/sources/source.ts";
import { dockerSupervisor } from "../../../../lib/agent/supervisors/docker.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { artifactError } from "../../../../lib/contract/errors.ts";
import type { LocalReport } from "../../../../lib/contract/surfaces/reports.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { listReleases } from "../../../../lib/releases/release.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

function host(t: Test, options: Partial<DeployOptions> = {}) {
  const root = options.projectRoot ?? temporaryFolder(t);
  const events: AgentEvent[] = [];
  return {
    root,
    layout: layoutOf(root),
    events,
    run: (source: Source, more: Partial<DeployOptions> = {}) =>
      deploy(
        source,
        { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" }, ...options, ...more },
        (event) => events.push(event),
      ),
    version: () => readFile(join(root, "plugins/a/version"), "utf8"),
    lastReport: async () => {
      const folder = layoutOf(root).reports(TARGET);
      const names = (await readdir(folder)).filter((name) => name.endsWith(".json")).toSorted();
      return JSON.parse(await readFile(join(folder, names.at(-1)!), "utf8")) as LocalReport;
    },
  };
}

const systemd = { name: "systemd" as const, make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }) };
/** Calls that do something, without those that ask the supervisor whether it works. */
const acts = (calls: readonly string[]): string[] => calls.filter((call) => !/list-jobs|^version/.test(call));
const HEALTHY = 'case "$*" in *show*) echo LoadState=loaded; echo ActiveState=active; echo NRestarts=0;; esac';

t.test("an unhealthy release goes back to the previous one, which is restarted, and stays in quarantine", async (t) => {
  const h = host(t, { supervisor: systemd });
  const steps = `${INSTALL}
  - {id: up, action: restart, plugin: a}
  - {id: ok, action: healthcheck, plugin: a, timeout: 5, retries: 1}`;
  await t.test("first a good one", async (t) => {
    const calls = await recordingProgram(t, "systemctl", HEALTHY);
    t.match(await h.run(sourceOf("1.0.0", steps)), { status: "success", outcome: "deployed" });
    t.match(acts(await calls())[0], /restart sealift-plugin-a/);
  });
  const calls = await recordingProgram(
    t,
    "systemctl",
    'case "$*" in *show*) echo LoadState=loaded; echo ActiveState=failed; echo NRestarts=0;; esac',
  );
  const reports: LocalReport[] = [];
  const result = await h.run(sourceOf("2.0.0", steps, { reports }));
  t.match(result, { status: "rolled_back", outcome: "rolled_back", error: { code: "rolled_back", exitCode: 6 } });
  t.equal(await h.version(), "1.0.0");
  const said = await calls();
  t.equal(said.filter((line) => line.includes("show")).length, 2, "one retry was asked for");
  t.match(said.at(-1), /restart sealift-plugin-a/, "the previous release was restarted, after the switch back");
  t.match(await h.lastReport(), { status: "rolled_back", code: "unhealthy", resolved_version: "2.0.0" });
  t.match(reports, [{ status: "rolled_back" }]);
  t.match(await readQuarantine(h.layout, TARGET), [{ version: "2.0.0", code: "unhealthy" }]);
  t.same(
    (await listReleases(h.layout, TARGET)).map(({ version }) => version),
    ["1.0.0"],
    "the failed release is gone",
  );
});

t.test("a failing first deployment leaves nothing, and its unit is stopped", async (t) => {
  const calls = await recordingProgram(
    t,
    "systemctl",
    'case "$*" in *show*) echo LoadState=loaded; echo ActiveState=failed; echo Result=exit-code;; esac',
  );
  const h = host(t, { supervisor: systemd });
  const result = await h.run(
    sourceOf(
      "1.0.0",
      `${INSTALL}\n  - {id: up, action: start, plugin: a}\n  - {id: ok, action: healthcheck, plugin: a, retries: 0}`,
    ),
  );
  t.match(result, { status: "failed", error: { code: "unhealthy", exitCode: 1 } });
  await t.rejects(access(join(h.root, "plugins/a")));
  t.match((await calls()).at(-1), /stop sealift-plugin-a/);
});

t.test("stops run just before the switch, and a failure after them starts what was stopped", async (t) => {
  const h = host(t, { supervisor: systemd });
  await t.test("a good one", async (t) => {
    await recordingProgram(t, "systemctl", HEALTHY);
    await h.run(sourceOf("1.0.0", INSTALL));
  });
  const calls = await recordingProgram(
    t,
    "systemctl",
    'case "$*" in *show*) echo LoadState=loaded; echo ActiveState=failed; echo Result=exit-code;; *start*a*) [ -e $STATE/failed ] || { touch $STATE/failed; exit 1; };; esac',
  );
  const result = await h.run(
    sourceOf("2.0.0", `\n  - {id: down, action: stop, plugin: a}${INSTALL}\n  - {id: up, action: start, plugin: a}`),
  );
  t.match(result, { status: "rolled_back", error: { code: "rolled_back" } });
  const said = acts(await calls())
    .filter((line) => !line.includes(" show "))
    .map((line) => line.replace("--system --no-ask-password ", ""));
  t.same(said, ["stop sealift-plugin-a", "start sealift-plugin-a", "restart sealift-plugin-a"]);
  const order = h.events
    .map((event) => (event.event === "step.started" ? event.id : event.event))
    .filter((name) => ["install", "down", "switch.done", "up"].includes(name));
  t.same(order.slice(-4), ["install", "down", "switch.done", "up"]);
  t.equal(await h.version(), "1.0.0");
});

t.test("docker as supervisor takes part in the same way", async (t) => {
  const calls = await recordingProgram(
    t,
    "docker",
    `case "$1" in inspect) echo '{"State":{"Status":"running","Running":true,"Restarting":false},"RestartCount":0}';; esac`,
  );
  const h = host(t, { supervisor: { name: "docker", make: () => dockerSupervisor({ staysUpMs: 100 }) } });
  const result = await h.run(
    sourceOf("1.0.0", `${INSTALL}\n  - {id: up, action: restart}\n  - {id: ok, action: healthcheck}`),
  );
  t.match(result, { status: "success" });
  t.match(acts(await calls())[0], /restart sealift-project/);
});

t.test("the hub's report is best effort: its failure is a warning and changes nothing", async (t) => {
  const h = host(t);
  const result = await h.run(
    sourceOf("1.0.0", INSTALL, { report: () => Promise.reject(new Error("the hub is gone")) }),
  );
  t.match(result, { status: "success" });
  t.ok(h.events.some((event) => event.event === "warning" && event.message.includes("the hub is gone")));
});

t.test(
  "a failure before the switch leaves no staging folder, no release and the old version, with a report",
  async (t) => {
    const h = host(t);
    await h.run(sourceOf("1.0.0", INSTALL));
    const broken = sourceOf("2.0.0", INSTALL, {
      fetch: () => Promise.reject(artifactError("signature_invalid", "changed bytes")),
    });
    const result = await h.run(broken);
    t.match(result, { status: "failed", error: { code: "signature_invalid", exitCode: 4 } });
    t.equal(await h.version(), "1.0.0");
    t.equal((await readdir(h.layout.releases(TARGET))).length, 1);
    t.match(await h.lastReport(), {
      status: "failed",
      code: "signature_invalid",
      resolved_version: "2.0.0",
      host_id: "host",
    });
    t.match(
      await readQuarantine(h.layout, TARGET),
      [{ version: "2.0.0" }],
      "bytes that failed a check are in quarantine",
    );
    t.match(await h.run(sourceOf("2.0.0", INSTALL)), { status: "success" }, "a person may ask again");
    t.same(await readQuarantine(h.layout, TARGET), []);
  },
);

t.test("provisioners run in the release with their own environment and without our secrets", async (t) => {
  process.env.SEALIFT_API_KEY = "slk_secret";
  t.teardown(() => delete process.env.SEALIFT_API_KEY);
  const h = host(t);
  const steps = `${INSTALL}\n  - {id: prov, action: provision, plugin: a, depends_on: [install]}`;
  t.match(await h.run(sourceOf("1.0.0", steps)), { error: { code: "provisioner_missing" } });
  const provisioner = {
    command: ["sh", "-c", 'pwd > where; echo "$PROVISION_PLUGIN_ID $EXTRA ${SEALIFT_API_KEY:-none}" > env; echo done'],
    env: { EXTRA: "x" },
    timeout: 5,
  };
  t.match(await h.run(sourceOf("1.0.0", steps), { provisioners: { a: provisioner } }), { status: "success" });
  t.equal(await readFile(join(h.root, "plugins/a/env"), "utf8"), "a x none\n");
  t.match(
    await readFile(join(h.root, "plugins/a/where"), "utf8"),
    /\.sealift\/releases\/.*\/plugins\/a\n$/,
    "the path that it saw is the path that stays",
  );
  t.ok(h.events.some((event) => event.event === "output" && event.line === "done"));
  const slow = { command: ["sh", "-c", "sleep 60 & wait"], env: {}, timeout: 0.2 };
  t.match(await h.run(sourceOf("2.0.0", steps), { provisioners: { a: slow } }), {
    error: { code: "provision_failed" },
  });
});

t.test("a notifier never fails a deployment", async (t) => {
  const h = host(t);
  const steps = `${INSTALL}\n  - {id: tell, action: notify, event: deployed, message: hello}\n  - {id: nobody, action: notify, event: other}`;
  const out = join(temporaryFolder(t), "told");
  const notifiers = {
    deployed: { command: ["sh", "-c", `echo "$NOTIFY_EVENT $NOTIFY_MESSAGE" > ${out}; exit 7`], env: {}, timeout: 5 },
  };
  t.match(await h.run(sourceOf("1.0.0", steps), { notifiers }), { status: "success" });
  t.equal(await readFile(out, "utf8"), "deployed hello\n");
  t.equal(h.events.filter(({ event }) => event === "warning").length, 2);
});

t.test("a lower latest is refused unless asked for", async (t) => {
  const h = host(t);
  await h.run(sourceOf("2.0.0", INSTALL));
  t.match(await h.run(sourceOf("1.0.0", INSTALL)), { error: { code: "downgrade_refused" } });
  t.equal(await h.version(), "2.0.0");
  t.match(await h.run(sourceOf("1.0.0", INSTALL, { requestedVersion: "1.0.0" })), { status: "success" });
  await h.run(sourceOf("2.0.0", INSTALL));
  t.match(await h.run(sourceOf("1.0.0", INSTALL), { allowDowngrade: true }), { status: "success" });
});

t.test("a plan that needs a supervisor is refused before the switch", async (t) => {
  const h = host(t);
  const result = await h.run(sourceOf("1.0.0", `${INSTALL}\n  - {id: up, action: start}`));
  t.match(result, { error: { kind: "DeploymentError", code: "needs_supervisor", exitCode: 2 } });
  await t.rejects(access(join(h.root, "plugins/a")));
});

t.test("two deployments on one root take turns", async (t) => {
  const root = temporaryFolder(t);
  const slow = (version: string) =>
    sourceOf(version, INSTALL, {
      resolve: async () => {
        await sleep(300);
        return { version, identity: version };
      },
    });
  const first = host(t, { projectRoot: root });
  const second = host(t, { projectRoot: root });
  const results = await Promise.all([first.run(slow("1.0.0")), sleep(50).then(() => second.run(slow("2.0.0")))]);
  t.same(
    results.map(({ status }) => status),
    ["success", "success"],
  );
  t.ok(second.events.some(({ event }) => event === "lock.waiting"));
  const third = host(t, { projectRoot: root, lockWaitMs: 100 });
  const [, busy] = await Promise.all([first.run(slow("3.0.0")), sleep(50).then(() => third.run(slow("4.0.0")))]);
  t.match(busy, { error: { code: "root_busy", exitCode: 75 } });
});

t.test("an interruption is undone wherever it comes", async (t) => {
  const h = host(t, { supervisor: systemd });
  await t.test("a good one", async (t) => {
    await recordingProgram(t, "systemctl", HEALTHY);
    await h.run(sourceOf("1.0.0", INSTALL));
  });
  await recordingProgram(
    t,
    "systemctl",
    'case "$*" in *show*) echo LoadState=loaded; echo ActiveState=activating; echo NRestarts=0;; esac',
  );
  const controller = new AbortController();
  const running = deploy(
    sourceOf(
      "2.0.0",
      `${INSTALL}\n  - {id: up, action: restart, plugin: a}\n  - {id: ok, action: healthcheck, plugin: a, retries: 20}`,
    ),
    { ...DEPLOY_DEFAULTS, projectRoot: h.root, hostId: "host", supervisor: systemd, signal: controller.signal },
    (event) => {
      if (event.event === "step.started" && event.id === "ok") setTimeout(() => controller.abort(), 100);
    },
  );
  t.match(await running, { error: { code: "interrupted", exitCode: 130 } });
  t.equal(await h.version(), "1.0.0");
  t.same(await readQuarantine(h.layout, TARGET), [], "an interruption says nothing about the version");
});

t.test("old reports go into one compressed archive", async (t) => {
  const h = host(t, { keepReports: 3 });
  for (let run = 0; run < 6; run++) await h.run(sourceOf("1.0.0", INSTALL));
  const names = await readdir(h.layout.reports(TARGET));
  t.equal(names.filter((name) => name.endsWith(".json")).length, 3);
  const { gunzipSync } = await import("node:zlib");
  const lines = gunzipSync(await readFile(join(h.layout.reports(TARGET), "archive.ndjson.gz")))
    .toString()
    .trim()
    .split("\n");
  t.equal(lines.length, 3);
  t.match(JSON.parse(lines[0]!), { slug: "prj_0123456789", status: "success" });
});

t.test("a project root that cannot be written is an error, not a crash", async (t) => {
  const root = temporaryFolder(t);
  await writeFile(join(root, "file"), "");
  const h = host(t, { projectRoot: join(root, "file", "below") });
  t.match(await h.run(sourceOf("1.0.0", INSTALL)), { status: "failed", report: null });
});

t.test("a project root that cannot be made is told as such, with nothing left behind", async (t) => {
  const folder = temporaryFolder(t);
  await writeFile(join(folder, "file"), "");
  for (const root of [join(folder, "file", "below"), join(folder, "file"), "/proc/x"]) {
    const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
    const result = await deploy(sourceOf("1.0.0", INSTALL), options, () => undefined);
    t.match(result, { status: "failed", error: { code: "root_unusable", exitCode: 1 } }, root);
  }
  t.strictSame(await readdir(folder), ["file"]);
});
