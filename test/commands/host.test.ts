import { chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { targetsAt } from "../../commands/targets/targets.ts";
import { deploy } from "../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../lib/agent/deployment/run.ts";
import { healthReport } from "../../lib/agent/reports/health-report.ts";
import { markUnsent, readReports, reportNames, writeReport } from "../../lib/agent/reports/report.ts";
import type { Source } from "../../lib/agent/sources/source.ts";
import { WatchMemory, writePin } from "../../lib/agent/watch/state.ts";
import { MANIFEST_FILE } from "../../lib/contract/files/manifest.ts";
import { deployedFile } from "../../lib/releases/deployed.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { quarantine } from "../../lib/releases/quarantine.ts";
import { currentRelease, listReleases } from "../../lib/releases/release.ts";
import { GIVEN_TARGET, INSTALL, sourceOf } from "../support/host/given-source.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The operator's day on a host, without a hub. */

const TARGET = GIVEN_TARGET.replace("-", ":");

async function host(t: Test, versions = ["1.0.0", "2.0.0"]) {
  const root = temporaryFolder(t);
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  for (const version of versions) {
    const source = sourceOf(version, INSTALL);
    const resolve: Source["resolve"] = async (context) => {
      const resolved = await source.resolve(context);
      context.emit({ event: "fetch.done", bytes: 1536, files: 1, unpacked_bytes: 4096 });
      return resolved;
    };
    await deploy({ ...source, resolve }, options, () => undefined);
  }
  const run = (...given: (string | Record<string, string>)[]) =>
    commandLine(
      given.filter((word) => typeof word === "string"),
      {
        env: { PATH: process.env.PATH, SEALIFT_PROJECT_ROOT: root, ...given.find((word) => typeof word === "object") },
      },
    );
  const events = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, "--json");
    t.equal(code, 0, stdout + stderr);
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { root, layout: layoutOf(root), run, events };
}

t.test("status tells what runs, what is kept, held back and pinned, and how the last try ended", async (t) => {
  const { layout, run, events } = await host(t);
  const at = "2026-01-01T00:00:00.000Z";
  await quarantine(layout, GIVEN_TARGET, {
    version: "3.0.0",
    identity: null,
    code: "unhealthy",
    reason: "it fell",
    at,
  });
  await writePin(layout, GIVEN_TARGET, { version: "2.0.0", reason: "audit", at });
  const { stdout } = await run("status");
  for (const pattern of [
    new RegExp(`^${TARGET} {2}2\\.0\\.0 runs since \\d{4}-`, "m"),
    /kept +1\.0\.0/,
    /disk +\d.* in 2 releases/,
    /pinned +to 2\.0\.0 since 2026-01-01 00:00:00Z: audit/,
    /held back +3\.0\.0 since .*: it fell/,
    /last try +success 2\.0\.0 at .+, 1\.5 KiB fetched$/m,
  ])
    t.match(stdout, pattern);
  t.match(await events("status"), [
    {
      event: "target",
      ...{ target: TARGET, running_version: "2.0.0", paused: false, pin: { version: "2.0.0" } },
      quarantine: [{ version: "3.0.0", reason: "it fell" }],
      releases: [{ version: "2.0.0", running: true }, { version: "1.0.0" }],
      last_report: { status: "success", resolved_version: "2.0.0" },
    },
    { event: "result", status: "success", targets: 1 },
  ]);
});

t.test("status counts one thing in the singular", async (t) => {
  const { layout, run } = await host(t, ["1.0.0"]);
  await markUnsent(layout, GIVEN_TARGET, (await reportNames(layout, GIVEN_TARGET))[0]!);
  const { stdout } = await run("status");
  t.match(stdout, /disk +\d.* in 1 release$/m);
  t.match(stdout, /unsent +1 report for the hub$/m);
});

t.test("releases and history are tables, and a report is found by the start of its id", async (t) => {
  const { run, events } = await host(t);
  const releases = (await run("releases", TARGET)).stdout.trim().split("\n");
  t.match(releases, [/^2\.0\.0-\S+ +2\.0\.0 .* running$/, /^1\.0\.0-\S+ +1\.0\.0 .* kept$/]);
  t.match((await run("history")).stdout.trim().split("\n"), [/2\.0\.0 +success/, /1\.0\.0 +success/]);
  const [deployment, end] = await events("history", TARGET, "--limit", "1");
  t.match(deployment, { event: "deployment", version: "2.0.0", resolved_version: "2.0.0" });
  t.equal(
    (await run("history", "--fields", "version,status", "--limit", "1")).stdout.split("\n")[0],
    '{"version":"2.0.0","status":"success"}',
  );
  t.match(end, { event: "result", deployments: 1 });
  const id = (deployment!["deployment_id"] as string).slice(0, 8);
  t.match(
    (await run("report", "show", id)).stdout,
    /status +success\n.*step +install \(install_plugin\): done in \d+ ms/s,
  );
  t.match(await run("report", "show", "zzz"), { code: 2, stderr: /No report.*"zzz".*\n.*sealift history/ });
});

t.test("history says what became unhealthy after its deployment, and healthy again", async (t) => {
  const { layout, run } = await host(t, ["1.0.0"]);
  const release = (await currentRelease(layout, GIVEN_TARGET))!;
  const earlier = await readReports(layout, GIVEN_TARGET, 1);
  const { kind, slug } = earlier[0]!;
  for (const [index, state] of (["unhealthy", "healthy"] as const).entries()) {
    const standing = {
      v: 1 as const,
      release: release.name,
      state,
      since: "2026-01-01T00:00:00.000Z",
      units: { "plugins/a": "it hangs" },
    };
    const now = new Date(Date.now() + 60_000 * (index + 1)).toISOString();
    const report = healthReport(release, standing, earlier, now, [], { kind, slug, host_id: "host" });
    await writeReport(layout, GIVEN_TARGET, report);
  }
  t.match((await run("history")).stdout.trim().split("\n"), [
    /1\.0\.0 +healthy/,
    /1\.0\.0 +unhealthy .*unhealthy: plugins\/a: it hangs/,
    /success/,
  ]);
});

t.test("a target of 0.1.0's kubernetes supervisor goes back as one without a supervisor", async (t) => {
  const { root, layout, run } = await host(t, []);
  const settings = { host_id: "host", supervisor: "kubernetes", k8s_namespace: "harbour" };
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  for (const version of ["1.0.0", "2.0.0"])
    await deploy(sourceOf(version, INSTALL), { ...options, settings }, () => undefined);
  t.match(await run("status"), { code: 0, stdout: /supervisor kubernetes, k8s-namespace harbour/ });
  t.match(await run("logs", TARGET), { code: 2, stderr: /Give the --supervisor/ });
  t.match(await run("rollback", TARGET), { code: 0, stderr: /No supervisor is chosen, so nothing is restarted/ });
  t.match(await currentRelease(layout, GIVEN_TARGET), { version: "1.0.0" });
});

t.test("the history of a host where nothing was deployed has no lines, and knows its fields", async (t) => {
  const { root, run } = await host(t, []);
  await mkdir(join(root, ".sealift"));
  t.match(await run("history", "--fields", "version,status"), { code: 0, stdout: "", stderr: "" });
  t.match(await run("history", "--fields", "versoin"), { code: 2, stderr: /no versoin.*\n.*Did you mean version\?/ });
});

t.test("rollback goes back in one command, and says so", async (t) => {
  const { run, events } = await host(t);
  t.match(await run("rollback", TARGET), {
    code: 0,
    stdout: "went back to 1.0.0 from 2.0.0\n",
    stderr: /^Going back with project \S+ \(previous\) in /,
  });
  t.match((await events("status"))[0], {
    running_version: "1.0.0",
    quarantine: [{ version: "2.0.0", code: "operator" }],
  });
  t.match((await events("rollback", TARGET, "--to", "2.0.0")).at(-1), { outcome: "deployed", version: "2.0.0" });
  t.match(await run("rollback", TARGET, "--to", "9.0.0"), { code: 1, stderr: /no_release.*\n.*Kept are 2\.0\.0/ });
  t.match((await events("rollback", TARGET, "--dry-run")).at(-1), { dry_run: true, version: "1.0.0" });
  t.match((await events("status"))[0], { running_version: "2.0.0", settings: { supervisor: "none" } });
  t.match(await run("rollback", "plugin:nope"), { code: 2, stderr: /plugin:nope was never deployed/ });
});

t.test("rollback takes over how the target was deployed last, and flags beat that", async (t) => {
  const { root, layout, run, events } = await host(t, ["1.0.0"]);
  const settings = { host_id: "harbour-1", supervisor: "docker", supervisor_name: "app-<id>" };
  const options = {
    ...DEPLOY_DEFAULTS,
    projectRoot: root,
    hostId: "harbour-1",
    supervisor: { name: "none" as const },
    settings,
  };
  for (const version of ["2.0.0", "3.0.0"]) await deploy(sourceOf(version, INSTALL), options, () => undefined);
  t.match((await run("status")).stdout, /deployed +as harbour-1, supervisor docker, supervisor-name app-<id>$/m);

  const refused = await run({ PATH: "/nowhere" }, "rollback", TARGET);
  t.match(refused, { code: 75, stderr: /supervisor_unavailable.*docker/ }, "the supervisor is the kept one");
  t.match(await run("rollback", TARGET, "--supervisor", "none"), { code: 0, stdout: /went back to 2\.0\.0/ });
  const [status] = await events("status");
  t.match(status, { last_report: { host_id: "harbour-1" }, settings: { host_id: "harbour-1", supervisor: "none" } });
  t.notOk("supervisor_name" in (status!["settings"] as object), "what described the other supervisor is gone");

  const file = deployedFile(layout, GIVEN_TARGET);
  if (process.getuid?.() !== 0) return;
  await chown(file, 61_234, 61_234);
  t.match((await events("status"))[0], { settings: {} }, "a file of another user says nothing");
});

t.test("pin keeps what runs, or a version, until unpin", async (t) => {
  const { run, events } = await host(t);
  t.match(await run("pin", TARGET, "--reason", "audit"), { code: 0, stderr: /stays at 2\.0\.0/ });
  t.match((await events("status"))[0], { pin: { version: "2.0.0", reason: "audit" } });
  t.match((await events("pin", TARGET, "--version", "1.0.0")).at(-1), { version: "1.0.0", running_version: "2.0.0" });
  t.match(await run("pin", TARGET, "--version", "9.9.9"), {
    code: 0,
    stderr: /Nothing here has heard of 9\.9\.9: check it.*\n.*is pinned to 9\.9\.9.* 2\.0\.0 runs until/,
  });
  t.match(await run("unpin", TARGET), { code: 0, stderr: /no longer pinned/ });
  t.match((await events("status"))[0], { pin: null });
});

t.test("a target is known by its id or its project's name alone, with what its last deployment kept", async (t) => {
  const { root, layout, run } = await host(t);
  const settings = { supervisor: "docker", host_id: "harbour-1" };
  const options = {
    ...DEPLOY_DEFAULTS,
    projectRoot: root,
    hostId: "harbour-1",
    supervisor: { name: "none" as const },
    settings,
  };
  await deploy(sourceOf("3.0.0", INSTALL), options, () => undefined);
  for (const { name } of await listReleases(layout, GIVEN_TARGET))
    await writeFile(join(layout.release(GIVEN_TARGET, name), MANIFEST_FILE), '{"project_name":"Harbour"}');
  const { length } = "project-";
  for (const name of ["Harbour", "project:Harbour", GIVEN_TARGET.slice(length)])
    t.match(await targetsAt(layout, [name]), [GIVEN_TARGET], name);
  await t.rejects(targetsAt(layout, ["Harbuor"]), { code: "usage" });
  const away = await run({ PATH: "/nowhere" }, "rollback", "Harbour");
  t.match(away, { code: 75, stderr: /supervisor_unavailable.*docker/ }, "the supervisor is the kept one");
});

t.test("a folder that is not a project root is refused", async (t) => {
  const { run } = await host(t);
  for (const words of [["status"], ["history"], ["releases", TARGET], ["rollback", TARGET], ["pin", TARGET]])
    t.match(await run(...words, "--project-root", "/"), { code: 2, stderr: /is not a project root/ }, words.join(" "));
});

t.test("two releases are compared, a target's logs are shown, and it is removed", async (t) => {
  const { root, run, events } = await host(t);
  t.match((await run("diff", TARGET, "1.0.0")).stdout, /^~ plugins\/a\/version \(5 B → 5 B\)$/m);
  t.match((await events("diff", TARGET, "2.0.0", "1.0.0"))[0], {
    event: "difference",
    what: "file",
    change: "changed",
  });
  t.match(await run("diff", TARGET, "9.0.0"), { code: 1, stderr: /no_release/ });

  const programs = join(root, "programs");
  await mkdir(programs);
  await writeFile(join(programs, "docker"), '#!/bin/sh\necho "$@"; echo "from stderr" >&2\n', { mode: 0o755 });
  const PATH = `${programs}:${process.env.PATH}`;
  t.match(await run({ PATH }, "logs", TARGET, "-f", "--lines", "5", "--supervisor", "docker"), {
    code: 0,
    stdout: /^(logs --tail=5 --follow sealift-plugin-a\n|from stderr\n){2}$/,
  });
  t.match(await run("logs", TARGET, "b", "--supervisor", "docker"), {
    code: 2,
    stderr: /has no plugin or application b.*It has a\./s,
  });
  t.match(await run({ PATH: "/nowhere" }, "logs", TARGET, "--supervisor", "docker"), {
    code: 1,
    stderr: /docker is not installed here/,
  });

  const { version, paths, ...would } = (await events("remove", TARGET, "--dry-run", "--purge"))[0]!;
  t.match({ version, ...would }, { version: "2.0.0", releases: 2, units: [], purged: false, dry_run: true });
  const ends = ["1.0.0-*", "2.0.0-*", "data/plugins/a", `outbox/${GIVEN_TARGET}`, `reports/${GIVEN_TARGET}`];
  const shown = (paths as string[]).map((path) =>
    path.replace(/.*\.sealift\/|releases\/[^/]*\/|(?<=0-)\w+$/g, "").replace(/-$/, "-*"),
  );
  t.strictSame(shown.toSorted(), ends);
  t.equal((await events("releases", TARGET)).length, 3, "nothing was removed");
  t.match(await run("remove", TARGET), { code: 0, stderr: /^Removed .*: 2\.0\.0 ran, 2 releases gone\.$/m });
  t.match((await run("status")).stdout, /nothing runs/);
});

t.test("the removal of a target that a watch has followed says that the watch installs it again", async (t) => {
  const { layout, run } = await host(t);
  await new WatchMemory({ layout }, GIVEN_TARGET).change({ state: { is: "current", since: "2026-01-01T00:00:00Z" } });
  t.match(await run("remove", TARGET), {
    code: 0,
    stderr:
      /^warning: A watch followed .* here, and would install it again: take it out of its targets before you start it\.\nRemoved/m,
  });
});
