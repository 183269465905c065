import { existsSync } from "node:fs";
import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { preview } from "../../../../lib/agent/deployment/preview.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../../lib/agent/deployment/run.ts";
import type { Source } from "../../../../lib/agent/sources/source.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { artifactError } from "../../../../lib/contract/errors.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { acquireLock } from "../../../../lib/releases/lock.ts";
import { quarantine, readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { startTracing } from "../../../../lib/support/tracing/start.ts";
import { startCollector } from "../../../support/collector.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const systemd = { name: "systemd" as const, make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }) };

/** A project root, and a folder of its own for what is temporary. */
function host(t: Test, more: Partial<DeployOptions> = {}) {
  const root = temporaryFolder(t);
  const temporary = temporaryFolder(t);
  const { TMPDIR } = process.env;
  process.env.TMPDIR = temporary;
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  const options = {
    ...DEPLOY_DEFAULTS,
    projectRoot: root,
    hostId: "host",
    supervisor: { name: "none" as const },
    ...more,
  };
  const warnings: string[] = [];
  return {
    root,
    warnings,
    layout: layoutOf(root),
    deploy: (source: Source) => deploy(source, options, () => undefined),
    preview: (source: Source, own: Partial<DeployOptions> = {}) =>
      preview(source, { ...options, ...own }, (event) => {
        if (event.event === "warning") warnings.push(event.message);
      }),
    /** Every path of the root with the times of its last changes. */
    state: async () => {
      const paths = [".", ...(await readdir(root, { recursive: true }))].toSorted();
      const found: Record<string, number> = {};
      for (const path of paths) {
        if (existsSync(join(root, path))) found[path] = (await stat(join(root, path))).ctimeMs;
      }
      return found;
    },
    left: () => readdir(temporary),
  };
}

const PLAN = `
  - {id: down, action: stop, plugin: a}${INSTALL}
  - {id: up, action: restart, plugin: a}
  - {id: ok, action: healthcheck, plugin: a}`;

t.test("a preview says what a deployment would change, and changes nothing", async (t) => {
  const calls = await recordingProgram(t, "systemctl", 'case "$*" in *show*) echo ActiveState=active;; esac');
  const h = host(t, { supervisor: systemd, keepReleases: 1 });
  const first = { "plugins/a/main.js": "1", "plugins/a/old.js": "22" };
  t.match(await h.deploy(sourceOf("1.0.0", INSTALL, { files: first })), { outcome: "deployed" });
  const before = await h.state();
  const found = await h.preview(
    sourceOf("1.1.0", PLAN, { files: { "plugins/a/main.js": "111", "plugins/a/data/seed.txt": "s" } }),
  );
  t.match(found, {
    outcome: "would_deploy",
    version: "1.1.0",
    previous_version: "1.0.0",
    changes: {
      installed: ["plugins/a"],
      adopted: [],
      removed: [],
      differences: [
        { what: "file", change: "changed", path: "plugins/a/main.js", before: 1, after: 3 },
        { what: "file", change: "removed", path: "plugins/a/old.js" },
        { what: "file", change: "added", path: "shipped-data/plugins/a/seed.txt", after: 1 },
      ],
      steps: [
        { id: "install", action: "install_plugin", plugin: "a", after_switch: false },
        { id: "down", action: "stop", after_switch: false },
        { id: "up", action: "restart", after_switch: true },
        { id: "ok", action: "healthcheck", after_switch: true },
      ],
      collected: ["1.0.0"],
    },
  });
  t.same(await h.state(), before);
  t.same(await h.left(), []);
  t.notOk((await calls()).some((call) => /stop|restart/.test(call)));
  t.match(await h.preview(sourceOf("1.0.0", INSTALL)), { outcome: "unchanged", previous_version: "1.0.0" });
});

t.test("a preview walks the steps of a deployment, up to its switch", async (t) => {
  const h = host(t);
  await using collector = await startCollector();
  const walked = async (run: (source: Source) => Promise<{ outcome: string }>): Promise<[string, string[]]> => {
    collector.spans.length = 0;
    const warn = (message: string): void => void t.fail(message);
    const tracing = startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, { service: "s", version: "1", warn });
    const { outcome } = await run(sourceOf("1.0.0", INSTALL));
    await tracing[Symbol.asyncDispose]();
    const inOrder = collector.spans.toSorted((a, b) =>
      BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1,
    );
    return [outcome, inOrder.map(({ name }) => name)];
  };
  const [found, tried] = await walked(h.preview);
  const [outcome, done] = await walked(h.deploy);
  t.same([found, outcome], ["would_deploy", "deployed"]);
  t.same(tried, done.slice(done.indexOf("deploy") + 1, done.indexOf("switch")));
  t.ok(tried.length >= 4, tried.join(", "));
});

t.test("a preview of a first deployment makes no project root, and needs no lock", async (t) => {
  const h = host(t);
  const projectRoot = join(h.root, "new");
  const found = await h.preview(sourceOf("1.0.0", INSTALL), { projectRoot });
  t.match(found, {
    outcome: "would_deploy",
    previous_version: null,
    changes: { differences: [{ change: "added", path: "plugins/a/version" }] },
  });
  t.notOk(existsSync(projectRoot));
  await mkdir(join(h.root, "plugins/a"), { recursive: true });
  await using _busy = await acquireLock(h.layout.targetLock(TARGET), { waitMs: 0 });
  t.match(await h.preview(sourceOf("1.0.0", INSTALL), { lockWaitMs: 0 }), { changes: { adopted: ["plugins/a"] } });
});

t.test("a preview fails as the deployment would, and condemns nothing", async (t) => {
  const h = host(t);
  await h.deploy(sourceOf("2.0.0", INSTALL));
  const before = await h.state();
  const wants = { "plugins/a/plugin.yaml": 'name: a\nversion: 3.0.0\nnetwork: ["example.org:443"]\n' };
  const bad = () => Promise.reject(artifactError("signature_invalid", "The signature does not hold."));
  const cases: [string, Source, Partial<DeployOptions>][] = [
    ["signature_invalid", sourceOf("3.0.0", INSTALL, { fetch: bad }), {}],
    ["downgrade_refused", sourceOf("1.0.0", INSTALL), {}],
    ["provisioner_missing", sourceOf("3.0.0", `\n  - {id: p, action: provision, plugin: a}${INSTALL}`), {}],
    ["needs_supervisor", sourceOf("3.0.0", PLAN), {}],
    ["rights_held", sourceOf("3.0.0", INSTALL, { files: wants }), {}],
    ["interrupted", sourceOf("3.0.0", INSTALL), { signal: AbortSignal.abort() }],
    ["id_taken", sourceOf("3.0.0", INSTALL, { slug: "prj_9876543210" }), {}],
  ];
  for (const [code, source, options] of cases)
    t.match(await h.preview(source, options), { outcome: "failed", error: { code } }, code);
  t.same(await readQuarantine(h.layout, TARGET), []);
  t.same(await h.state(), before);
  t.same(await h.left(), []);
});

t.test("a preview names what a deployment by hand would try again", async (t) => {
  const h = host(t);
  const at = "2026-01-01T00:00:00.000Z";
  await quarantine(h.layout, TARGET, { version: "1.0.0", identity: null, code: "unhealthy", reason: "It fell.", at });
  const provisioners = { a: { command: ["/nowhere"], env: {}, timeout: 1 } };
  const steps = `\n  - {id: p, action: provision, plugin: a}${INSTALL}`;
  t.match(await h.preview(sourceOf("1.0.0", steps), { provisioners }), { outcome: "would_deploy" });
  t.match(h.warnings, [/1\.0\.0 is in quarantine \(It fell\)/]);
});
