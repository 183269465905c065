// Only in test:all: each test starts a watch of its own, 10 s of a processor.
// Holds: when a second watch is refused (lib/agent/watch/target-locks.ts)
// Holds: what hosts do with a deprecated version (lib/agent/deployment/walk.ts)
import { access, mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { leftovers } from "../support/host/world.ts";
import { type Door, startDoor } from "../support/hub/door.ts";
import { startHub } from "../support/hub/harness.ts";
import { publishedArchive, publishedProject, type PublishedTarget, watchYaml } from "../support/hub/published.ts";
import { systemctlOf } from "../support/programs/systemctl.ts";
import { type ProgramEvent, run, start } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A hub behind a door, a folder with a plugin's keys and plan, and a project root to be. */
async function place(t: Test) {
  const folder = temporaryFolder(t);
  const config = join(folder, "config");
  await mkdir(config);
  const door = await startDoor(t);
  const dataDir = join(folder, "hub");
  const hub = await startHub(t, { dataDir, rateLimits: false, publicUrl: door.url });
  door.hub = hub.url;
  const tides = await publishedArchive(hub, "plugin", "tides", config);
  const file = join(config, "watch.yaml");
  return {
    folder,
    config,
    file,
    door,
    hub,
    tides,
    root: join(folder, "root"),
    /** Writes watch.yaml, whole, for targets that share the root. */
    configure: async (targets: readonly PublishedTarget[], shared: Record<string, unknown> = {}) => {
      const entries = targets.map(({ name, options }) => ({ target: name, ...options }));
      const text = watchYaml({ hub_url: door.url, project_root: "../root", interval: 1, ...shared }, entries);
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    },
  };
}

const version = (root: string, { folder }: PublishedTarget): Promise<string> =>
  readFile(join(root, folder, "version"), "utf8");

const outcomes = (result: ProgramEvent | undefined): unknown =>
  (result!.targets as { target: string; outcome: string }[]).map(({ target, outcome }) => `${target} ${outcome}`);

t.test(
  "--once deploys what is due, says what is current the second time, and what went wrong with its code",
  async (t) => {
    const { file, configure, tides, root, hub, config, folder } = await place(t);
    await configure([tides]);
    await tides.publish("1.0.0");
    const once = async (args: readonly string[] = [], env: Record<string, string> = {}) => {
      const ended = await run(["watch", "--config", file, "--once", "--json", ...args], { cwd: folder, env });
      t.equal(ended.stderr, "", "with --json stderr is empty");
      return { code: ended.code, result: ended.events.at(-1), events: ended.events };
    };
    const first = await once();
    t.match(first, { code: 0, result: { v: 1, event: "result", status: "success", exit_code: 0 } });
    t.same(outcomes(first.result), ["plugin:tides deployed"]);
    t.equal(await version(root, tides), "1.0.0", "relative paths start at the folder of watch.yaml");
    t.same(outcomes((await once()).result), ["plugin:tides current"]);

    await configure([tides], { hub_url: "http://127.0.0.1:9" });
    t.match(await once(), {
      code: 75,
      result: { status: "failed", targets: [{ error: { code: "connection_failed" } }] },
    });

    const clock = await publishedArchive(hub, "service", "clock", config);
    await configure([tides, clock]);
    t.same(outcomes((await once()).result), ["plugin:tides current", "service:clock unpublished"]);
    await clock.publish("1.0.0", {}, true);
    await tides.publish("1.1.0");
    const worst = await once();
    t.match(worst, { code: 4, result: { exit_code: 4, targets: [{}, { error: { code: "signature_invalid" } }] } });
    t.same(outcomes(worst.result), ["plugin:tides deployed", "service:clock failed"], "the worst of both");
    const again = { targets: [{}, { outcome: "failed", error: { code: "signature_invalid" } }] };
    t.match(await once(), { code: 4, result: again }, "a secret that never verified anything condemns no version");
  },
);

t.test("--once ends with 6 where a version was rolled back, and with 1 while it stays in quarantine", async (t) => {
  const { file, configure, hub, config, folder, root } = await place(t);
  const steps = `  - {id: up, action: restart, plugin: tug}
  - {id: ok, action: healthcheck, plugin: tug, timeout: 5, retries: 0}\n`;
  const tug = await publishedArchive(hub, "plugin", "tug", config, steps);
  await configure([tug], { supervisor: "systemd" });
  const env = { PATH: `${await systemctlOf(folder, join(root, tug.folder))}:${process.env.PATH}` };
  const once = async () => (await run(["watch", "--config", file, "--once"], { cwd: folder, env })).code;
  await tug.publish("1.0.0");
  t.equal(await once(), 0);
  await tug.publish("2.0.0", { sick: "yes" });
  t.equal(await once(), 6);
  t.equal(await version(root, tug), "1.0.0");
  t.equal(await once(), 1);
  t.same(await leftovers(root), []);
});

t.test("without a terminal it says in lines what happens, and SIGTERM ends it with 0", async (t) => {
  const { file, configure, tides, folder } = await place(t);
  await configure([tides]);
  await tides.publish("1.0.0");
  for (const [env, line] of [
    [{}, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ plugin:tides {2}deployed 1\.0\.0 in [\d.]+ s$/m],
    [{ JOURNAL_STREAM: "8:1" }, /^plugin:tides {2}latest 1\.0\.0, running 1\.0\.0$/m],
  ] as const) {
    const watch = start(t, "watch", ["--config", file], { cwd: folder, env });
    await watch.until(String(line), ({ stdout }) => line.test(stdout));
    watch.child.kill("SIGTERM");
    const ended = await watch.ended;
    t.match(ended, { code: 0, stderr: "" });
    t.match(ended.stdout, /stopping\n$/);
    t.notMatch(ended.stdout, /\u001b/);
  }
});

t.test("SIGTERM in the middle of a deployment leaves the old release, whole, and ends with 0", async (t) => {
  const { file, configure, tides, root, door, folder } = await place(t);
  await configure([tides]);
  await tides.publish("1.0.0");
  const watch = start(t, "watch", ["--config", file, "--json"], { cwd: folder });
  await watch.untilEvent("deploy.done", { outcome: "deployed" });
  const asked = Promise.withResolvers<void>();
  door.trouble = ({ path }) => {
    if (!path.includes("/install")) return { kind: "none" };
    asked.resolve();
    return { kind: "delayed", ms: 60_000 };
  };
  await tides.publish("2.0.0");
  await asked.promise;
  watch.child.kill("SIGTERM");
  const { code, events } = await watch.ended;
  t.equal(code, 0);
  t.match(events.at(-1), { v: 1, event: "result", status: "success" });
  t.match(
    events.findLast(({ event }) => event === "deploy.done"),
    { code: "interrupted", version: "2.0.0" },
  );
  t.equal(await version(root, tides), "1.0.0");
  t.same(await leftovers(root), []);
  t.equal((await readdir(join(root, ".sealift/reports/plugin-tides"))).length, 2, "every run has its report");
});

t.test("SIGHUP takes a changed watch.yaml over; a broken one changes nothing and is a warning", async (t) => {
  const { file, configure, tides, hub, config, root, folder } = await place(t);
  const clock = await publishedArchive(hub, "service", "clock", config);
  await configure([tides]);
  for (const target of [tides, clock]) await target.publish("1.0.0");
  const watch = start(t, "watch", ["--config", file, "--json"], { cwd: folder });
  await watch.untilEvent("deploy.done", { target: "plugin:tides" });
  await configure([tides, clock]);
  watch.child.kill("SIGHUP");
  await watch.untilEvent("deploy.done", { target: "service:clock", outcome: "deployed" });
  t.equal(await version(root, clock), "1.0.0");

  await writeFile(file, "targets: [{target: nonsense}]");
  watch.child.kill("SIGHUP");
  await watch.untilEvent("watch.warning");
  for (const target of [tides, clock]) {
    await target.publish("1.1.0");
    await watch.untilEvent("deploy.done", { target: target.name, version: "1.1.0" });
  }
  t.equal(watch.said.events.filter(({ event }) => event === "watch.started").length, 2);
  watch.child.kill("SIGTERM");
  t.equal((await watch.ended).code, 0);
});

t.test("a secret from standard input survives a reload", async (t) => {
  const { config, tides, hub, root, door } = await place(t);
  await tides.publish("1.0.0");
  const args = [tides.name, "--hub-url", door.url, "--project-root", root, "--install-plan", "tides.yaml", "--json"];
  const secrets = ["--api-key-file", "-", "--signing-secret-file", "tides.secret", "--interval", "1s"];
  const watch = start(t, "watch", [...args, ...secrets], { cwd: config, stdin: `${hub.adminKey}\n` });
  await watch.untilEvent("deploy.done", { outcome: "deployed" });
  const started = ({ events }: { events: ProgramEvent[] }) => events.filter(({ event }) => event === "watch.started");
  watch.child.kill("SIGHUP");
  await watch.until("the reload", (said) => started(said).length === 2);
  t.equal(watch.said.events.filter(({ event }) => event === "watch.warning").length, 0);
});

t.test("`sealift watch pause` and its like reach a watch in another process", async (t) => {
  const { file, configure, tides, root, folder } = await place(t);
  await configure([tides], { interval: 3600 });
  await tides.publish("1.0.0");
  const ask = async (action: string) =>
    (await run(["watch", action, tides.name, "--project-root", root], { cwd: folder })).code;
  t.equal(await ask("pause"), 2, "nothing was ever deployed there");
  await t.rejects(access(root));
  const watch = start(t, "watch", ["--config", file, "--json"], { cwd: folder });
  await watch.untilEvent("deploy.done", { version: "1.0.0" });
  t.equal(await ask("pause"), 0);
  await watch.untilEvent("target.paused");
  await tides.publish("1.1.0");
  t.equal(await ask("check"), 0);
  await watch.untilEvent("target.held", { version: "1.1.0", reason: "paused" });
  t.equal(await ask("resume"), 0);
  await watch.untilEvent("deploy.done", { version: "1.1.0" });
  watch.child.kill("SIGTERM");
  await watch.ended;
  t.equal(await ask("redeploy"), 0);
  const once = await run(["watch", "--config", file, "--once", "--json"], { cwd: folder });
  t.same(outcomes(once.events.at(-1)), ["plugin:tides deployed"], "the next watch takes up what was asked meanwhile");
});

t.test(
  "only the first poll asks for the whole answer, on both surfaces, and not even the first after a restart",
  async (t) => {
    const { file, configure, tides, hub, config, door, folder } = await place(t);
    const project = await publishedProject(hub, "berths", config);
    await configure([tides, project]);
    for (const target of [tides, project]) await target.publish("1.0.0");
    const polls = (path: RegExp): string[] =>
      door.passages
        // What was under way at the end has no answer.
        .filter((passage) => path.test(passage.path) && passage.status !== undefined)
        .map(({ status, headers }) => `${status} ${headers["if-none-match"] === undefined ? "whole" : "if changed"}`);
    const paths = [/\/plugins\/tides$/, /\/versions\/latest$/];
    for (const expected of ["200 whole", "304 if changed"]) {
      door.passages.length = 0;
      const watch = start(t, "watch", ["--config", file, "--json"], { cwd: folder });
      const checks = (name: string): number =>
        watch.said.events.filter(({ event, target }) => event === "check.scheduled" && target === name).length;
      await watch.until("two checks of each", () => [tides, project].every(({ name }) => checks(name) >= 2));
      watch.child.kill("SIGTERM");
      await watch.ended;
      for (const path of paths) {
        t.equal(polls(path)[0], expected);
        t.equal(polls(path).at(-1), "304 if changed", String(path));
      }
    }
    const sessions = door.passages.filter(({ path }: Door["passages"][0]) => path.endsWith("/v1/auth"));
    t.equal(sessions.length, 1, "a project's polls share one session");
  },
);

t.test("a second watch of a target ends and names the first; a killed one holds nothing", async (t) => {
  const { file, folder, config, root, tides, hub, configure } = await place(t);
  await configure([tides]);
  await tides.publish("1.0.0");
  const watching = (...args: string[]) => start(t, "watch", ["--config", file, "--json", ...args], { cwd: folder });
  const first = watching();
  await first.untilEvent("deploy.done", { outcome: "deployed" });
  const byFirst = new RegExp(
    `^plugin:tides in .*/root is watched already, by process ${first.child.pid} since \\d{4}-`,
  );

  const refused = await watching().ended;
  t.match(refused, { code: 75, events: [{ event: "result", error: { code: "target_watched", message: byFirst } }] });
  await symlink(root, join(folder, "other-name"));
  await configure([tides], { project_root: "../other-name" });
  t.match(
    (await watching().ended).events.at(-1),
    { error: { code: "target_watched" } },
    "by another name of the folder",
  );
  const clock = await publishedArchive(hub, "service", "clock", config);
  const other = join(config, "other.yaml");
  const shared = { hub_url: hub.url, project_root: "../root", interval: 1 };
  await writeFile(other, watchYaml(shared, [{ target: clock.name, ...clock.options }]));
  const beside = start(t, "watch", ["--config", other, "--json"], { cwd: folder });
  await beside.untilEvent("watch.started");
  beside.child.kill("SIGTERM");
  t.equal((await beside.ended).code, 0, "another target of the root may be another watch's");
  t.equal((await watching("--once").ended).code, 0, "one turn beside it is not a watch");

  const removed = await run(["remove", "plugin:tides", "--project-root", root]);
  t.match(removed, {
    code: 0,
    stderr: new RegExp(`^warning: The watch that runs here \\(process ${first.child.pid} .*installs it again`, "m"),
  });
  await first.until(
    "its second deployment",
    ({ events }) => events.filter(({ event }) => event === "deploy.done").length === 2,
  );

  first.child.kill("SIGKILL");
  await first.ended;
  const heir = watching();
  await heir.untilEvent("watch.started");
  heir.child.kill("SIGTERM");
  await heir.ended;
  await configure([clock]);
  const next = watching();
  await next.untilEvent("watch.started");
  await configure([tides], { project_root: "../second" });
  const second = watching();
  await second.untilEvent("deploy.done");
  next.child.kill("SIGHUP");
  await next.until("a warning", ({ events }) => events.some(({ event }) => event === "watch.warning"));
  t.match(
    next.said.events.find(({ event }) => event === "watch.warning"),
    { message: /^The configuration was not taken over: plugin:tides in .*\/second is watched already/ },
  );
  second.child.kill("SIGTERM");
  await second.ended;
  next.child.kill("SIGHUP");
  await next.until("the other targets", ({ events }) =>
    events.some(({ event, targets }) => event === "watch.started" && targets[0].target === "plugin:tides"),
  );
  await start(t, "watch", ["--config", other, "--json"], { cwd: folder }).untilEvent("watch.started");
});
