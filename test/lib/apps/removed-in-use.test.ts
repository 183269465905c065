// Holds: a removal ends jobs, and waits for nobody's typed command (lib/agent/deployment/remove.ts)
// Holds: a release is there while something of it runs (lib/agent/applications/in-use.ts, lib/apps/run.ts)
// In a process of its own: it watches processes for seconds.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { removeTarget } from "../../../lib/agent/deployment/remove.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import { readJob, recordedJobs, writeJob } from "../../../lib/releases/jobs.ts";
import { listReleases } from "../../../lib/releases/release.ts";
import { noteStopped, stoppedSince } from "../../../lib/releases/stopped.ts";
import { applicationHost, installing } from "../../support/host/application-host.ts";
import { GRANT_USER } from "../../support/host/application-root.ts";
import { GIVEN_TARGET as TARGET, sourceOf } from "../../support/host/given-source.ts";
import { SEALIFT } from "../../support/host/served-root.ts";
import { commandLine } from "../../support/programs/command-line.ts";
import { until } from "../../support/until.ts";

const EVERY_MINUTE = "* * * * *";
/** Says who it is in a folder that everybody may write, and goes on. */
const NIGHT = (folder: string): string => `
const fs = require("node:fs");
fs.appendFileSync(${JSON.stringify(folder)} + "/nights", process.pid + " " + fs.readFileSync("version", "utf8") + "\\n");
process.on("SIGTERM", () => { fs.writeFileSync(${JSON.stringify(folder)} + "/asked-to-end", ""); process.exit(0); });
setInterval(() => {}, 1000);
`;

async function host(t: Test) {
  const grants = { supervisor: "serve", applications: { web: GRANT_USER, night: { of: "web" } } };
  const h = await applicationHost(t, JSON.stringify(grants));
  await chmod(h.root, 0o755);
  const folder = join(h.root, "said");
  await mkdir(folder);
  await chmod(folder, 0o777);
  const served = await AppServe.start(h.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  const version = (name: string, withNight = true) =>
    sourceOf(name, installing("web", ...(withNight ? ["night"] : [])), {
      files: {
        "apps/web/app.yaml": "command: [node, web.js]\nhealth: { stays_up: 1s }\nstop: { within: 1s }\n",
        "apps/web/web.js": "setInterval(() => {}, 1000);",
        "apps/web/night.js": NIGHT(folder),
        "apps/web/version": name,
        ...(withNight && {
          "apps/night/app.yaml": `of: web\ncommand: [node, night.js]\nschedule: "${EVERY_MINUTE}"\nstop: { within: 2s }\n`,
        }),
      },
    });
  const deploy = (name: string, { withNight = true, keepReleases = 3 } = {}) =>
    h.run(version(name, withNight), { supervisor: { name: "none" }, keepReleases });
  const remove = (purge = false) =>
    removeTarget(
      { kind: "project", slug: TARGET.slice("project-".length), purge },
      { ...DEPLOY_DEFAULTS, projectRoot: h.root, hostId: "host", supervisor: { name: "none" } },
      () => undefined,
    );
  const due = async (): Promise<void> => {
    const before = (await readJob(h.layout, "night"))?.run ?? null;
    const until = new Date(Date.now() - 61_000).toISOString();
    await writeJob(h.layout, "night", { v: 1, times: `${EVERY_MINUTE} UTC`, until, run: before });
    // Whatever somebody asks of an application, its jobs are looked at.
    await served.act("web", "start");
  };
  const nights = (): string[] =>
    existsSync(join(folder, "nights")) ? readFileSync(join(folder, "nights"), "utf8").trim().split("\n") : [];
  /** Runs a command in web's place until somebody ends it. */
  const typed = () => {
    const words = ["app", "run", "web", "--project-root", h.root, "--", "sh", "-c", "echo begun; pwd; exec sleep 600"];
    const child = spawn(process.execPath, [SEALIFT, ...words], { stdio: ["ignore", "pipe", "inherit"] });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    t.teardown(() => void child.kill("SIGKILL"));
    return { child, printed: () => printed, ended: once(child, "exit") };
  };
  return { ...h, folder, served, deploy, remove, due, nights, typed };
}

const lives = (pid: number): boolean =>
  existsSync(`/proc/${pid}/status`) && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));

t.test("a removal ends the run of a job by its signal, also of a version that has been left", async (t) => {
  for (const leavesFirst of [false, true]) {
    const { deploy, remove, due, nights, folder, layout } = await host(t);
    t.match(await deploy("1.0.0"), { outcome: "deployed" });
    await until(async () => (await readJob(layout, "night")) !== undefined);
    await due();
    await until(() => nights().length === 1, 20_000);
    const pid = Number.parseInt(nights()[0]!, 10);
    if (leavesFirst) {
      t.match(await deploy("2.0.0", { withNight: false }), { outcome: "deployed" });
      t.ok(lives(pid), "a deployment ends no job");
    }
    await remove();
    t.notOk(lives(pid));
    t.ok(existsSync(join(folder, "asked-to-end")), "it was asked to end");
    t.strictSame(await listReleases(layout, TARGET), []);
    t.strictSame(await recordedJobs(layout), []);
    t.equal(nights().length, 1, "and none begins again");
  }
});

t.test("a removal is refused while somebody runs a command, with nothing done, and works afterwards", async (t) => {
  const { deploy, remove, typed, layout, served, root } = await host(t);
  t.match(await deploy("1.0.0"), { outcome: "deployed" });
  const { child, printed, ended } = typed();
  await until(() => printed().includes("begun"));
  const before = served.statuses().find(({ id }) => id === "web");
  await t.rejects(remove(), {
    code: "root_busy",
    message: /Somebody runs a command in .*1\.0\.0.* \(`sealift app run`\)/,
  });
  t.strictSame(
    served.statuses().find(({ id }) => id === "web"),
    before,
    "the application goes on",
  );
  t.ok(existsSync(join(root, "apps/web")));
  child.kill("SIGTERM");
  await ended;
  t.match(await remove(true), { releases: 1 });
  t.strictSame(await listReleases(layout, TARGET), []);
  const gone = await commandLine(["app", "run", "web", "--project-root", root, "--", "true"]);
  t.match(gone, { code: 1, stderr: /app_not_installed/ });
  t.strictSame(readdirSync(join(layout.sealift, "runs")), [], "what could not be run leaves no record");
});

t.test("a release stays while a command or a job of it runs, and goes with the next deployment", async (t) => {
  const { deploy, typed, due, nights, layout, served } = await host(t);
  t.match(await deploy("1.0.0"), { outcome: "deployed" });
  await until(async () => (await readJob(layout, "night")) !== undefined);
  await due();
  await until(() => nights().length === 1, 20_000);
  const { child, printed, ended } = typed();
  await until(() => /begun\n.+\n/.test(printed()));
  const folder = printed().trim().split("\n").at(-1)!;
  for (const name of ["2.0.0", "3.0.0"]) await deploy(name, { keepReleases: 1 });
  t.ok(existsSync(folder), "both keep it");
  child.kill("SIGKILL");
  await ended;
  await deploy("4.0.0", { keepReleases: 1 });
  t.ok(existsSync(folder), "the job keeps it");
  // Otherwise the next minute may begin another run at once. A stopped job whose run has ended is forgotten.
  await noteStopped(layout, "night", true);
  await served.act("night", "stop");
  await until(async () => (await readJob(layout, "night")) === undefined);
  await deploy("5.0.0", { keepReleases: 1 });
  t.notOk(existsSync(folder));
  t.match(nights(), [/ 1\.0\.0$/]);
});

t.test("`app stop` of a job ends its run, and none begins until it is started", async (t) => {
  const { deploy, due, nights, layout, root } = await host(t);
  t.match(await deploy("1.0.0"), { outcome: "deployed" });
  await until(async () => (await readJob(layout, "night")) !== undefined);
  await due();
  await until(() => nights().length === 1, 20_000);
  t.match(await commandLine(["app", "stop", "night", "--project-root", root]), { code: 0 });
  t.notOk(lives(Number.parseInt(nights()[0]!, 10)));
  t.ok(await stoppedSince(layout, "night"));
});
