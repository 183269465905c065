// Holds: what `app serve` makes of jobs (lib/apps/served-jobs.ts, lib/apps/serve.ts)
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { applicationSupervisor } from "../../../lib/agent/supervisors/applications.ts";
import type { AppServeEvent } from "../../../lib/apps/events.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import { readGrants } from "../../../lib/releases/applications.ts";
import { readJob, releasesOfJobs, writeJob } from "../../../lib/releases/jobs.ts";
import { ApplicationRoot, GRANT_USER } from "../../support/host/application-root.ts";
import { logOf, ServedRoot } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

const EVERY_MINUTE = "* * * * *";
const BASE = `console.log("BEGINS " + process.pid); setInterval(() => {}, 1000);`;
/** Says who it is, and does what its argument says. */
const NIGHT = `
console.log("NIGHT " + process.pid + " " + process.cwd() + " " + process.env.GREETING + " " + process.getuid());
const { spawn } = require("node:child_process");
const what = process.argv[2];
if (what === "fails") process.exit(3);
if (what === "forks") { spawn("setsid", ["sleep", "600", "forked-" + process.ppid], { stdio: "ignore", detached: true }).unref(); setTimeout(() => process.exit(0), 300); }
if (what === "stays") { process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); }
`;

async function jobs(t: Test, what: string, app: object = {}) {
  // The next minute begins another run: it is not to come in the middle of a look.
  await until(() => new Date().getSeconds() < 50);
  const root = await ApplicationRoot.make(t);
  const install = (): Promise<string> =>
    root.installTogether({
      web: { files: { "server.js": BASE, "night.js": NIGHT } },
      night: { app: { of: "web", schedule: EVERY_MINUTE, ...app }, command: ["node", "night.js", what], files: {} },
    });
  await install();
  await root.grantAsIs({ web: GRANT_USER, night: { of: "web" } });
  writeFileSync(join(root.layout.root, "apps/web.env"), "GREETING=hello\n", { mode: 0o600 });
  /** Makes it due as soon as somebody looks. */
  const due = async (): Promise<void> => {
    const until = new Date(Date.now() - 61_000).toISOString();
    await writeJob(root.layout, "night", { v: 1, times: `${EVERY_MINUTE} UTC`, until, run: null });
  };
  await due();
  const log = (): string => (existsSync(logOf(root, "night")) ? readFileSync(logOf(root, "night"), "utf8") : "");
  const pid = (): number => Number(/NIGHT (\d+)/.exec(log())?.[1]);
  const record = async () => (await readJob(root.layout, "night"))?.run;
  return { root, install, log, pid, record };
}

async function serve(t: Test, root: ApplicationRoot) {
  const events: AppServeEvent[] = [];
  const served = await AppServe.start(root.layout, (event) => void events.push(event));
  t.teardown(() => served[Symbol.asyncDispose]());
  return { served, events };
}

/** Tells whether a process runs; one that has ended, and that nobody has asked about, does not. */
const lives = (pid: number): boolean =>
  existsSync(`/proc/${pid}/status`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));

t.test("a job runs in the place of the application that it is of, and its failure is told once", async (t) => {
  const { root, log, record } = await jobs(t, "fails");
  const { served, events } = await serve(t, root);
  await until(() => events.some(({ event }) => event === "job.ended"));
  t.match(log(), /NIGHT \d+ .*\/r1\/apps\/web hello /);
  t.match(await record(), { release: "r1", started: true, fault: "it ended with exit code 3" });
  t.strictSame(
    events.filter(({ event }) => event.startsWith("job.")).map(({ event }) => event),
    ["job.begun", "job.ended"],
  );
  t.strictSame(
    served.statuses().map(({ id }) => id),
    ["web"],
    "no process waits with it",
  );
  const supervisor = applicationSupervisor({ layout: root.layout, grants: (await readGrants(root.layout))! });
  t.match(await supervisor.look!("night", 1000), { fault: /its run of .* failed: it ended with exit code 3/ });
  t.equal(await supervisor.check("night", 1000), undefined, "it settles no deployment");
  const again = await root.installTogether({ night: { app: { of: "web", schedule: EVERY_MINUTE }, files: {} } });
  t.equal((await supervisor.look!("night", 1000)).fault, undefined, `${again} has not failed`);
});

t.test("whatever a job has started ends with it, and it is ended in its time, whatever it does", async (t) => {
  for (const [what, within, fault] of [
    ["forks", 60, null],
    ["stays", 3, "it did not end within 3 s"],
  ] as const) {
    const { root, pid, record } = await jobs(t, what, { within });
    await serve(t, root);
    await until(async () => (await record())?.ended);
    t.equal((await record())!.fault, fault, what);
    t.notOk(lives(pid()));
    t.strictSame(await forked(), []);
  }
});

/** Processes that a job has left. */
async function forked(): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir("/proc"))
    if (/^\d+$/.test(pid) && (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).includes("forked-"))
      found.push(pid);
  return found;
}

t.test("an upgrade begins and ends no job, and its release is not collected", async (t) => {
  const { root, install, pid, record, log } = await jobs(t, "stays", { within: 600, stop: { within: 1 } });
  const { served } = await serve(t, root);
  await until(() => pid() > 0);
  const first = pid();
  for (let n = 0; n < 5; n++) {
    await install();
    await served.act("web", "restart");
  }
  t.ok(lives(first));
  t.equal(log().match(/NIGHT/g)!.length, 1);
  t.strictSame([...(await releasesOfJobs(root.layout, "project-p"))], ["r1"]);
  t.equal(served.statuses()[0]!.release, "r6");
  await served[Symbol.asyncDispose]();
  t.notOk(lives(first), "it ends with `app serve`");
  t.match(await record(), { ended: String, fault: /it was ended by SIG|exit code 137/ });
});

t.test("after a kill of app serve nothing of a job is left, it says so, and is not begun twice", async (t) => {
  const { root, pid, record, log } = await jobs(t, "stays", { within: 600 });
  const first = await ServedRoot.start(t, root);
  await until(() => pid() > 0);
  await first.end("SIGKILL");
  const second = await ServedRoot.start(t, root);
  await until(async () => (await record())?.ended);
  t.match(await record(), { fault: "`app serve` was killed meanwhile" });
  t.notOk(lives(pid()));
  t.equal(log().match(/NIGHT/g)!.length, 1);
  await second.end("SIGTERM");
});

t.test("a job that was begun and not started is started by the next app serve", async (t) => {
  const { root, record, log } = await jobs(t, "fails");
  const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  const now = new Date().toISOString();
  const run = {
    due: now,
    begun: now,
    target: "project-p",
    release: "r1",
    boot,
    started: false,
    before: "",
    ended: null,
    fault: null,
  };
  await writeJob(root.layout, "night", { v: 1, times: `${EVERY_MINUTE} UTC`, until: now, run });
  await serve(t, root);
  await until(async () => (await record())?.ended);
  t.equal(log().match(/NIGHT/g)!.length, 1);
});

t.test("a version makes a job of a program that ran all the time, and the reverse", async (t) => {
  const { root, install, log } = await jobs(t, "fails", { schedule: "0 0 1 1 *" });
  const { served } = await serve(t, root);
  await served.act("night", "stop");
  await root.installTogether({
    web: { files: { "server.js": BASE, "night.js": BASE } },
    night: { app: { of: "web" }, command: ["node", "night.js"], files: {} },
  });
  await served.act("night", "restart");
  await until(() => log().includes("BEGINS"));
  const { pid } = served.statuses().find(({ id }) => id === "night")!;
  await served.act("night", "stop");
  await install();
  t.notOk(lives(pid!));
  await t.rejects(served.act("night", "restart"), { message: /night is a job, which runs at its times/ });
});
