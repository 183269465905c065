// Holds: a command tells whether a worker works (lib/apps/served-checks.ts, lib/agent/supervisors/applications.ts)
// Holds: a version whose command fails goes back, and what is back is asked, too (lib/agent/deployment/ask-back.ts)
// In a process of its own: it watches processes for seconds.
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { applicationSupervisor } from "../../../lib/agent/supervisors/applications.ts";
import type { AppServeEvent } from "../../../lib/apps/events.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import { applicationFaults } from "../../../lib/artifact/project/application-faults.ts";
import { application } from "../../../lib/contract/files/application.ts";
import { readGrants } from "../../../lib/releases/applications.ts";
import { applicationHost, appSource } from "../../support/host/application-host.ts";
import { ApplicationRoot, GRANT_USER } from "../../support/host/application-root.ts";
import { noOwnUsers, ownUser, ServedRoot } from "../../support/host/served-root.ts";
import { commandLine } from "../../support/programs/command-line.ts";
import { until } from "../../support/until.ts";

/** Notes each of its runs in a folder that everybody may write, and does what a file there says. */
const CHECK = (folder: string): string => `
const fs = require("node:fs");
fs.appendFileSync(${JSON.stringify(folder)} + "/asked", [process.pid, process.getuid(), process.env.GREETING, process.cwd()].join(" ") + "\\n");
const what = fs.existsSync(${JSON.stringify(folder)} + "/what") ? fs.readFileSync(${JSON.stringify(folder)} + "/what", "utf8") : "good";
if (what === "bad") { console.log("the queue is full"); process.exit(3); }
if (what === "forks") require("node:child_process").spawn("setsid", ["sleep", "600"], { stdio: "ignore", detached: true, argv0: "forked" })
  .once("spawn", function () { fs.writeFileSync(${JSON.stringify(folder)} + "/forked", String(this.pid)); process.exit(0); });
if (what === "hangs") { process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); }
if (what === "floods") for (;;) fs.writeSync(1, "flood ".repeat(1000) + "\\n");
`;
const WORKER = `setInterval(() => {}, 1000);`;
const HEALTH = "health: { command: [node, check.js], within: 2s, stays_up: 1s }\nstop: { within: 1s }\n";

async function worker(t: Test) {
  const h = await applicationHost(
    t,
    JSON.stringify({ supervisor: "serve", applications: { web: GRANT_USER, api: GRANT_USER } }),
  );
  await chmod(h.root, 0o755);
  const folder = join(h.root, "said");
  await mkdir(folder);
  await chmod(folder, 0o777);
  await mkdir(join(h.root, "apps"));
  await writeFile(join(h.root, "apps/web.env"), "GREETING=hello\n", { mode: 0o600 });
  const events: AppServeEvent[] = [];
  const served = await AppServe.start(h.layout, (event) => void events.push(event));
  t.teardown(() => served[Symbol.asyncDispose]());
  const does = async (what: string): Promise<void> => {
    await rm(join(folder, "what"), { force: true });
    await writeFile(join(folder, "what"), what);
  };
  const asked = (): string[][] =>
    existsSync(join(folder, "asked"))
      ? readFileSync(join(folder, "asked"), "utf8")
          .trim()
          .split("\n")
          .map((line) => line.split(" "))
      : [];
  const version = (name: string, check = CHECK(folder), yaml = HEALTH) =>
    appSource(name, ["web"], `command: [node, worker.js]\n${yaml}`, {
      "apps/web/worker.js": WORKER,
      "apps/web/check.js": check,
    });
  const deploy = (source: ReturnType<typeof version>) => h.run(source, { supervisor: { name: "none" } });
  const supervisor = async () => applicationSupervisor({ layout: h.layout, grants: (await readGrants(h.layout))! });
  return { ...h, folder, served, does, asked, version, deploy, supervisor };
}

const lives = (pid: number): boolean =>
  existsSync(`/proc/${pid}/status`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));

t.test("a version is good once its command ends well, as the application's user, with its settings", async (t) => {
  const { deploy, version, asked, root, supervisor } = await worker(t);
  const deployed = await deploy(version("1.0.0"));
  t.match(deployed, { outcome: "deployed" }, String(deployed.error?.message));
  t.equal(asked().length, 2, "once for the first answer, and once at the end of `stays_up`");
  const [, uid, greeting, cwd] = asked()[0]!;
  t.match(cwd, /apps\/web$/);
  t.equal(greeting, "hello");
  if (process.getuid!() === 0) t.not(uid, "0");
  for (let n = 0; n < 3; n++) t.strictSame(await (await supervisor()).look!("web", 1000), { restarts: 0 });
  t.equal(asked().length, 2, "a good answer counts for a minute");
  const { stdout, code } = await commandLine(["app", "status", "web", "--project-root", root, "--json"]);
  t.match(JSON.parse(stdout.split("\n")[0]!), { healthy: true });
  t.equal(code, 0);
});

t.test("a version whose command fails goes back, and what is back is asked by its own", async (t) => {
  const { deploy, version, does, asked, folder } = await worker(t);
  const one = await deploy(version("1.0.0"));
  t.match(one, { outcome: "deployed" }, String(one.error?.message));
  const fails = `process.exit(9)`;
  const before = asked().length;
  const back = await deploy(version("2.0.0", fails));
  t.match(back, { outcome: "rolled_back", error: { code: "rolled_back", exitCode: 6 } });
  t.match(back.error?.message, /`health\.command` failed: it ended with exit code 9, for 2 seconds/);
  t.ok(asked().length > before, "the former one was asked");
  await does("bad");
  const notBack = await deploy(version("3.0.0", fails));
  t.match(notBack, { outcome: "rolled_back", error: { code: "not_back", exitCode: 1 } });
  t.match(
    notBack.error?.message,
    /does not work either: apps\/web: `health\.command` failed: it ended with exit code 3/,
  );
  await rm(join(folder, "what"));
});

t.test("one that fails later is unhealthy, and well again with the next good answer", async (t) => {
  const { deploy, version, does, supervisor, layout, served } = await worker(t);
  await deploy(version("1.0.0"));
  await does("bad");
  // Another process has answered nothing yet.
  await served.act("web", "restart");
  const fault = async () => (await (await supervisor()).look!("web", 1000)).fault;
  await until(async () => /exit code 3/.test((await fault()) ?? ""));
  await until(() => readFileSync(join(layout.sealift, "logs/apps/web/log"), "utf8").includes("the queue is full"));
  await does("good");
  await until(async () => (await fault()) === undefined, 20_000);
});

t.test("whatever it has started ends with it, it is ended in its time, and nobody else waits for it", async (t) => {
  const { deploy, version, does, folder, supervisor, asked, layout } = await worker(t);
  await deploy(version("1.0.0"));
  const check = async () => (await supervisor()).check("web", 1000);
  await does("forks");
  t.equal(await check(), undefined);
  const forked = Number(readFileSync(join(folder, "forked"), "utf8"));
  t.ok(forked > 0);
  t.notOk(lives(forked), "it may not fork away");
  await does("hangs");
  const began = performance.now();
  t.match(await check(), /it did not end within 2 s, for 2 seconds/);
  t.ok(performance.now() - began < 15_000);
  t.notOk(lives(Number(asked().at(-1)![0])));
  const looking = performance.now();
  await (
    await supervisor()
  ).look!("web", 1000);
  t.ok(performance.now() - looking < 2_000, "a look has the last answer, and does not wait for the next");
  await does("floods");
  t.match(await check(), /it did not end within 2 s/);
  const log = join(layout.sealift, "logs/apps/web");
  const bytes = ["log", "log.1", "log.2", "log.3", "log.4"].reduce(
    (sum, name) => sum + (existsSync(join(log, name)) ? readFileSync(join(log, name)).length : 0),
    0,
  );
  t.ok(bytes <= 4 * 9 * 1024 * 1024, "its output is bounded with that of the application");
  await does("good");
});

t.test("after a kill of app serve nothing of a command is left", { skip: noOwnUsers() }, async (t) => {
  const root = await ApplicationRoot.make(t);
  const said = join(root.layout.root, "said");
  await mkdir(said);
  await chmod(said, 0o777);
  await writeFile(join(said, "what"), "hangs");
  const health = { command: ["node", "check.js"], within: 30 };
  await root.install("web", { app: { health }, files: { "server.js": WORKER, "check.js": CHECK(said) } });
  const folder = join(root.layout.root, "apps/web/.sealift/check");
  await writeFile(folder, `#!/bin/sh\nexec timeout -s TERM -k 1 30 '${process.execPath}' check.js\n`);
  await root.grant({ web: {} });
  const first = await ServedRoot.start(t, root);
  const supervisor = applicationSupervisor({ layout: root.layout, grants: (await readGrants(root.layout))! });
  t.match(await supervisor.look!("web", 1000), { restarts: 0 }, "not answered yet");
  await until(() => existsSync(join(said, "asked")));
  const pid = Number(readFileSync(join(said, "asked"), "utf8").split(" ")[0]);
  await first.end("SIGKILL");
  const second = await ServedRoot.start(t, root);
  await until(() => !lives(pid));
  await second.end("SIGTERM");
});

t.test("where the user tells the members, a command ends none of the others", { skip: noOwnUsers() }, async (t) => {
  const root = await ApplicationRoot.make(t);
  const said = join(root.layout.root, "said");
  await mkdir(said);
  await chmod(said, 0o777);
  await writeFile(join(said, "what"), "forks");
  const health = { command: ["node", "check.js"], within: 5 };
  await root.install("web", { app: { health }, files: { "server.js": WORKER, "check.js": CHECK(said) } });
  const script = join(root.layout.root, "apps/web/.sealift/check");
  await writeFile(script, `#!/bin/sh\nexec timeout -s TERM -k 1 5 '${process.execPath}' check.js\n`);
  await root.grantAsIs({ web: { user: ownUser(t) } });
  const served = await ServedRoot.start(t, root, "container");
  t.ok(served.has("application.started", { membership: "user" }));
  const { pid } = served.events.find(({ event }) => event === "application.started") as unknown as { pid: number };
  const supervisor = applicationSupervisor({ layout: root.layout, grants: (await readGrants(root.layout))! });
  for (let n = 0; n < 3; n++) t.strictSame(await supervisor.look!("web", 5_000), { restarts: 0 });
  await until(() => existsSync(join(said, "forked")));
  t.ok(lives(pid), "the application goes on");
  t.notOk(served.has("application.ended"));
  const forked = Number(readFileSync(join(said, "forked"), "utf8"));
  await supervisor.stop("web");
  t.notOk(lives(pid));
  t.notOk(lives(forked), "what it has left ends with the application at the latest");
});

t.test("what a command of health may be, and what not", (t) => {
  const faults = (more: object): string[] =>
    application
      .safeParse({ command: ["node", "a.js"], ...more })
      .error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`) ?? [];
  t.strictSame(faults({ health: { command: ["node", "check.js"] } }), []);
  t.match(faults({ ports: ["http"], health: { http: "/", command: ["node", "c.js"] } }), [
    /^health\.command is another way/,
  ]);
  t.match(faults({ schedule: "* * * * *", health: { command: ["node", "c.js"] } }), [/^health is for a program/]);
  t.match(faults({ health: { command: "node check.js" } }), [/^health\.command/]);
  const app = application.parse({ command: ["node", "a.js"], health: { command: ["./check.sh", "$PORT_X"] } });
  t.strictSame(
    applicationFaults(app, () => undefined),
    [
      "health.command: $PORT_X is the variable of no name in listen or ports",
      "health.command: check.sh is not in the folder",
    ],
  );
  t.end();
});
