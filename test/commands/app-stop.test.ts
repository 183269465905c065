// Holds: what an operator has stopped is started by nobody else (lib/releases/stopped.ts,
// lib/agent/supervisors/stopped-applications.ts, lib/apps/managed-application.ts)
// In a process of its own: it watches processes for seconds.
import { existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import { AppRestart } from "../../commands/apps/app-restart.ts";
import { AppStart } from "../../commands/apps/app-start.ts";
import { AppStatus } from "../../commands/apps/app-status.ts";
import { AppStop } from "../../commands/apps/app-stop.ts";
import { Status } from "../../commands/targets/status.ts";
import { AppServe } from "../../lib/apps/serve.ts";
import { noteStopped, stoppedSince } from "../../lib/releases/stopped.ts";
import { freePort } from "../support/free-port.ts";
import { applicationHost, appSource } from "../support/host/application-host.ts";
import { ApplicationRoot, GRANT_USER, HANDED_OVER } from "../support/host/application-root.ts";
import { asNobody } from "../support/host/as-nobody.ts";
import { ask } from "../support/host/served-root.ts";
import { recordingProgram } from "../support/programs/recording-program.ts";
import { runHere } from "../support/programs/run-here.ts";
import { until } from "../support/until.ts";

const COMMANDS = [AppRestart, AppStart, AppStatus, AppStop, Status];
const APP = `command: [node, server.js]\nlisten: [http]\nhealth: { http: /, within: 5s, stays_up: 1s }\nstop: { within: 1s }\n`;
const server = (says: string): string =>
  `require("node:http").createServer((q, r) => r.end(${JSON.stringify(says)})).listen({ fd: 3 });`;

/** A host with a real `app serve`, for versions that say which they are. */
async function hosted(t: Parameters<typeof applicationHost>[0]) {
  const port = await freePort();
  const grants = { supervisor: "serve", applications: { web: { ...GRANT_USER, listen: { http: port } } } };
  const h = await applicationHost(t, JSON.stringify(grants));
  await chmod(h.root, 0o755);
  const supervisor = { name: "none" as const };
  const version = (name: string) => appSource(name, ["web"], APP, { "apps/web/server.js": server(name) });
  const run = (...words: string[]) => runHere(COMMANDS, [...words, "--project-root", h.root]);
  h.options.supervisor = supervisor as never;
  const take = (source: ReturnType<typeof version>) => h.run(source, { supervisor });
  return { ...h, port, run, take, deploy: (name: string) => take(version(name)) };
}

t.test("what is of a stopped application rests with it, and nobody says that it works", async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  const files = { "server.js": HANDED_OVER, "worker.js": "setInterval(() => {}, 1000)" };
  await root.installTogether({
    web: { app: { listen: ["http"] }, files },
    worker: { app: { of: "web" }, command: ["node", "worker.js"], files: {} },
    night: { app: { of: "web", schedule: "30 3 * * *" }, command: ["node", "night.js"], files: {} },
  });
  const grants = { web: { ...root.user, listen: { http: port } }, worker: { of: "web" }, night: { of: "web" } };
  await root.grantAsIs(grants);
  const served = await AppServe.start(root.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  const run = (...words: string[]) => runHere(COMMANDS, [...words, "--project-root", root.layout.root]);
  t.match(await run("app", "stop", "web"), { code: 0 });
  t.match(await run("app", "status"), { code: 0 }, "nothing is unhealthy");
  for (const deed of ["start", "restart"])
    t.match(await run("app", deed, "worker"), { code: 1, stderr: /web is stopped, and worker.*\n.*app start web/ });
  for (let again = 0; again < 2; again++)
    t.match(await run("app", "start", "night"), { code: 0, stdout: "night is a job, and begins at its times\n" });
  t.match(await run("app", "start", "web"), { code: 0, stdout: "web is healthy\nworker is healthy\n" });
});

t.test("a stopped application stays so over deployments, rollbacks and a new app serve", async (t) => {
  const h = await hosted(t);
  let served = await AppServe.start(h.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  t.match(await h.deploy("1.0.0"), { outcome: "deployed" });
  t.equal(await ask(h.port), "1.0.0");

  t.match(await h.run("app", "stop", "web"), {
    code: 0,
    stdout: "web is stopped\n",
    stderr: /until `sealift app start/,
  });
  t.match(await ask(h.port), "ECONNREFUSED", "at once, and its socket is closed");
  t.match(await h.run("app", "stop", "web"), { code: 0, stderr: /web was stopped already/ });
  t.match(await h.run("app", "restart", "web"), { code: 1, stderr: /\(app_stopped\).*\n.*app start web/ });

  t.comment("its port is free for somebody else");
  const other = createServer((socket) => socket.destroy()).listen(h.port, "127.0.0.1");
  t.match(await h.deploy("2.0.0"), { outcome: "deployed" });
  other.close();
  const steps = h.events.flatMap((event) => (event.event === "step.done" ? [event.outcome] : []));
  t.match(
    steps.filter(({ status }) => status === "skipped"),
    [
      { id: "restart-app-web", error_message: "an operator has stopped it" },
      { id: "healthcheck-app-web", error_message: "an operator has stopped it" },
    ],
  );
  t.match(await ask(h.port), "ECONNREFUSED");
  t.match(await h.back(), { status: "success" });
  const warnings = h.events.flatMap((event) => (event.event === "warning" ? [event.message] : []));
  t.notMatch(warnings.join("\n"), /No supervisor is chosen/, "app serve is one");
  t.equal(await h.version(), "1.0.0");
  t.match(await ask(h.port), "ECONNREFUSED");

  t.comment("nor does a boot start it, and SIGHUP neither");
  await served[Symbol.asyncDispose]();
  served = await AppServe.start(h.layout, () => undefined);
  await served.reload();
  t.match(served.statuses(), [{ id: "web", state: "stopped", error: null }]);
  const shown = await h.run("app", "status", "web", "--json");
  t.equal(shown.code, 0, "it is not unhealthy");
  t.match(JSON.parse(shown.stdout.split("\n")[0]!), {
    state: "stopped",
    healthy: null,
    fault: null,
    stopped_since: /Z$/,
  });
  t.match(await h.run("app", "status"), { stdout: /^web {2}stopped since .*\n(.*\n)* {2}stopped +by an operator/ });
  t.match(await h.run("status"), { code: 0, stdout: /apps\/web +stopped by an operator since/ });

  t.match(await h.run("app", "start", "web"), { code: 0, stdout: "web is healthy\n" });
  t.equal(await ask(h.port), "1.0.0");
  t.match(await h.run("app", "start", "web"), { code: 0, stderr: /web was not stopped/ });
  t.match(await h.run("app", "stop", "nobody"), { code: 2, stderr: /There is no application nobody/ });
});

t.test("stopped while a deployment asks it, the version is not to blame", async (t) => {
  const h = await hosted(t);
  await using _served = await AppServe.start(h.layout, () => undefined);
  const going = h.deploy("1.0.0");
  await until(async () => (await ask(h.port)) === "1.0.0");
  t.match(await h.run("app", "stop", "web"), { code: 0 });
  t.match(await going, { outcome: "deployed" });
  t.match(await ask(h.port), "ECONNREFUSED");
});

t.test("a failed version goes back beside what is stopped", async (t) => {
  const h = await hosted(t);
  await using _served = await AppServe.start(h.layout, () => undefined);
  const api = await freePort();
  const grant = (port: number) => ({ ...GRANT_USER, listen: { http: port } });
  await h.allow(JSON.stringify({ supervisor: "serve", applications: { web: grant(h.port), api: grant(api) } }));
  const version = (name: string, ofApi: string) =>
    h.take(appSource(name, ["web", "api"], APP, { "apps/web/server.js": server(name), "apps/api/server.js": ofApi }));
  t.match(await version("1.0.0", server("one")), { outcome: "deployed" });
  t.match(await h.run("app", "stop", "web"), { code: 0 });
  t.match(await version("2.0.0", "process.exit(1)"), { outcome: "rolled_back", error: { code: "rolled_back" } });
  t.equal(await ask(api), "one");
  t.match(await ask(h.port), "ECONNREFUSED");
});

t.test("without app serve it is stopped from its next start on", async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  await root.install("web", { app: { listen: ["http"] }, files: { "server.js": HANDED_OVER } });
  await root.grant({ web: { listen: { http: port } } });
  const run = (...words: string[]) => runHere(COMMANDS, ["app", ...words, "--project-root", root.layout.root]);
  t.match(await run("stop", "web"), { code: 75, stderr: /No `sealift app serve` has run/ });
  t.match(await stoppedSince(root.layout, "web"), /Z$/);
  await using _served = await AppServe.start(root.layout, () => undefined);
  t.match(await ask(port), "ECONNREFUSED");
});

t.test("what stands in the place of its folder is named, and links are not followed", async (t) => {
  const root = await ApplicationRoot.make(t);
  await mkdir(join(root.layout.sealift, "state"), { recursive: true });
  await mkdir(join(root.layout.root, "elsewhere"));
  symlinkSync(join(root.layout.root, "elsewhere"), join(root.layout.sealift, "state/stopped"));
  await t.rejects(noteStopped(root.layout, "web", true), { code: "root_unusable" });
  t.notOk(existsSync(join(root.layout.root, "elsewhere/web")));
  rmSync(join(root.layout.sealift, "state/stopped"));
  writeFileSync(join(root.layout.sealift, "state/stopped"), "");
  await t.rejects(noteStopped(root.layout, "web", true), { code: /EEXIST|root_unusable/ });
});

t.test("without rights nothing is stopped", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { files: { "server.js": "" } });
  await root.grant({ web: {} });
  await mkdir(join(root.layout.sealift, "state"), { recursive: true });
  await chmod(join(root.layout.sealift, "state"), 0o500);
  const words = ["app", "stop", "web", "--project-root", root.layout.root];
  const { code, stderr } = await asNobody(root.layout.root, () => runHere(COMMANDS, words));
  t.match({ code, stderr }, { code: 1, stderr: `${join(root.layout.sealift, "state", "stopped")}'` });
});

t.test("a unit of an earlier version is told apart", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { files: { "server.js": "" } });
  await writeFile(
    join(root.layout.root, "applications.yaml"),
    "supervisor: systemd\napplications: { web: { user: web } }\n",
  );
  const calls = await recordingProgram(
    t,
    "systemctl",
    `case "$*" in *show*) printf 'LoadState=loaded\\nActiveState=inactive\\n\\nLoadState=loaded\\nActiveState=active\\n';; *cat*) echo '[Unit]';; esac`,
  );
  const stopped = await runHere(COMMANDS, ["app", "stop", "web", "--project-root", root.layout.root]);
  t.match(stopped, { code: 0, stderr: /earlier version.*systemd install app web/ });
  t.ok((await calls()).some((call) => call.includes("stop sealift-app@web.socket sealift-app@web.service")));
});
