import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { AppEnv } from "../../commands/apps/app-env.ts";
import { AppLogs } from "../../commands/apps/app-logs.ts";
import { AppRestart } from "../../commands/apps/app-restart.ts";
import { AppStatus } from "../../commands/apps/app-status.ts";
import { AppServe } from "../../lib/apps/serve.ts";
import { withFleet } from "../../lib/releases/fleet-block.ts";
import { NO_SETTINGS, writeFleetSettings } from "../../lib/releases/fleet-settings.ts";
import { writeRelease } from "../../lib/releases/release.ts";
import { freePort } from "../support/free-port.ts";
import { ApplicationRoot, HANDED_OVER } from "../support/host/application-root.ts";
import { recordingProgram } from "../support/programs/recording-program.ts";
import { runHere } from "../support/programs/run-here.ts";

const COMMANDS = [AppEnv, AppLogs, AppRestart, AppStatus];
const HEALTH = { http: "/", within: 5, stays_up: 1 };
const SERVER = `console.log("greets", process.env.GREETING); ${HANDED_OVER}`;

async function rootOf(t: Test, grant: object = {}) {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  const files = { "server.js": SERVER };
  const app = { listen: ["http"], health: HEALTH, environment: { required: ["GREETING"] } };
  const name = await root.install("web", { app, files });
  const items = [{ section: "apps", id: "web" } as const];
  const record = { version: "1.4.0", identity: null, items, content_sha256: null, created_at: "2026-01-01T00:00:00Z" };
  await writeRelease(root.layout, "project-p", name, record);
  await root.grant({ web: { listen: { http: port }, ...grant } });
  const run = (words: string[], stdin = "") =>
    runHere(COMMANDS, ["app", ...words, "--project-root", root.layout.root], { stdin });
  const events = async (...words: string[]) => {
    const { code, stdout, stderr } = await run([...words, "--json"]);
    t.equal(code, 0, stdout + stderr);
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { root, port, run, events };
}

t.test("settings, restart, state and log of an application under app serve", async (t) => {
  const { root, port, run, events } = await rootOf(t);
  t.match(await run(["env", "web", "list"]), { code: 0, stdout: "", stderr: /missing, and required: GREETING/ });
  t.match(await run(["env", "web", "set", "GREETING"], "it's a 'secret'\n"), { code: 0, stdout: "set GREETING\n" });
  await using _served = await AppServe.start(root.layout, () => undefined);
  t.match(await run(["restart", "web"]), { code: 0, stdout: "web is healthy\n" });

  const [state] = await events("status", "web");
  t.match(state, { event: "application", id: "web", state: "running", restarts: 0, version: "1.4.0" });
  t.match(state, { healthy: true, fault: null, addresses: { http: `127.0.0.1:${port}` } });
  t.ok(process.kill(state!["pid"] as number, 0));
  t.equal(state!["same_user"], process.getuid?.() !== 0);
  const shown = await run(["status"]);
  t.match(shown.stdout, /^web {2}running since .*\n {2}version +1\.4\.0\n {2}process +\d+, 0 restarts, user /);
  t.match(
    shown.stdout,
    new RegExp(`addresses http 127\\.0\\.0\\.1:${port}\\n(?:  uses      .*\\n)?  health    works\\n`),
  );
  if (process.getuid?.() !== 0) t.match(shown.stdout, /reads +all that .* keys of the agent/);

  const { stdout } = await run(["logs", "web", "--lines", "2"]);
  t.match(stdout, /^greets it's a 'secret'$/m);
  t.match(await events("logs", "web"), [{ event: "line", unit: "apps/web", line: /./ }]);

  t.match(await run(["env", "web", "unset", "GREETING"]), { code: 0, stdout: "unset GREETING\n" });
  t.match(await run(["env", "web", "unset", "GREETING"]), { code: 0, stdout: "GREETING is not set\n" });
  const failed = await run(["restart", "web"]);
  t.match(failed, { code: 75, stderr: /supervisor_unavailable.*needs values for GREETING/ });
  const ill = await run(["status", "web", "--json"]);
  const [application, result] = ill.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  t.match(application, { state: "failed", healthy: false, fault: /needs values for GREETING/ });
  t.match(result, { event: "result", status: "failed", exit_code: 1, applications: 1, error: { code: "unhealthy" } });
  t.match(await run(["status"]), { code: 1, stdout: /does not work: /, stderr: /\(unhealthy\): web does not work/ });
});

t.test("a value is kept at 0600 and never shown, and bad ones are refused", async (t) => {
  const { root, run } = await rootOf(t);
  const file = join(root.layout.root, "apps/web.env");
  writeFileSync(file, "# mine\nB=2\n", { mode: 0o644 });
  const set = await run(["env", "web", "set", "A", "--json"], "top secret");
  t.match(JSON.parse(set.stdout), { name: "A", changed: true });
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.equal(await readFile(file, "utf8"), "# mine\nB=2\nA='top secret'\n");
  const list = await run(["env", "web", "list"]);
  t.equal(list.stdout, "A\nB\n");
  for (const { stdout, stderr } of [set, list, await run(["env", "web", "set", "A"], `secret'"\\`)])
    t.notMatch(stdout + stderr, "secret");
  t.match(await run(["env", "web", "set", "A"], `'"\\`), { code: 2, stderr: /systemd and Node/ });
  t.match(await run(["env", "web", "set", "A"], "x".repeat(70_000)), { code: 2, stderr: /more than 64 KiB/ });
  t.match(await run(["env", "web", "set", "A-B"], "x"), { code: 2, stderr: /not a name of a variable/ });
  t.match(await run(["env", "web", "set"]), { code: 2, stderr: /set NAME/ });
  t.match(await run(["env", "web", "show", "A"]), { code: 2, stderr: /`list`/ });
  t.match(await run(["env", "../web", "list"]), { code: 2, stderr: /not an id of an application/ });
  t.equal(await readFile(file, "utf8"), "# mine\nB=2\nA='top secret'\n");
});

t.test("a name that the fleet gives is refused, and the host's own lines change around its block", async (t) => {
  const { root, run, events } = await rootOf(t);
  const file = join(root.layout.root, "apps/web.env");
  const fleet = { GREETING: "from afar" };
  writeFileSync(file, withFleet("# mine\nGREETING=own\nB=2\n", fleet), { mode: 0o600 });
  const refused = { code: 2, stderr: /settings_of_fleet.*GREETING of web/ };
  t.match(await run(["env", "web", "set", "GREETING"], "secret"), refused);
  t.match(await run(["env", "web", "unset", "GREETING"]), refused);
  t.equal(await readFile(file, "utf8"), withFleet("# mine\nGREETING=own\nB=2\n", fleet));

  t.match(await run(["env", "web", "set", "NEW"], "3"), { code: 0 });
  t.match(await run(["env", "web", "set", "B"], "4"), { code: 0 });
  t.equal(await readFile(file, "utf8"), withFleet("# mine\nGREETING=own\nB=4\nNEW=3\n", fleet));
  t.equal((await run(["env", "web", "list"])).stdout, "B\nGREETING  (fleet)\nNEW\n");
  const [list] = await events("env", "web", "list");
  t.match(list, { names: ["B", "GREETING", "NEW"], origin: { B: "host", GREETING: "fleet", NEW: "host" } });
});

t.test("a block without its second mark stays the fleet's", async (t) => {
  const { root, run } = await rootOf(t);
  const file = join(root.layout.root, "apps/web.env");
  const fleet = { GREETING: "from afar" };
  const held = { operator: "ab", to: "cd", number: 3, digest: "ef", apps: { web: fleet } };
  await writeFleetSettings(root.layout, "project-p", { ...NO_SETTINGS, held });
  const whole = withFleet("B=2\n", fleet);
  writeFileSync(file, whole.slice(0, whole.indexOf("# <<<")), { mode: 0o600 });
  t.match(await run(["env", "web", "set", "GREETING"], "x"), { code: 2, stderr: /settings_of_fleet/ });
  t.match(await run(["env", "web", "set", "C"], "3"), { code: 0 });
  t.equal(await readFile(file, "utf8"), withFleet("B=2\nC=3\n", fleet));
});

t.test("state, restart and log of an application under systemd", async (t) => {
  const { root, port, run } = await rootOf(t);
  const grants = `supervisor: systemd\napplications: { web: { user: web, listen: { http: ${port} } } }\n`;
  await writeFile(join(root.layout.root, "applications.yaml"), grants);
  const asked = await recordingProgram(
    t,
    "systemctl",
    `case "$*" in *show*) printf 'LoadState=loaded\\nActiveState=active\\nSubState=running\\nNRestarts=2\\nMainPID=77\\nUser=web\\nStateChangeTimestamp=Fri 2026-11-27 17:56:16 UTC\\n';; esac`,
  );
  const read = await recordingProgram(t, "journalctl", "echo from the journal");
  const asking = await run(["status", "web", "--json"]);
  t.equal(asking.code, 1, "nobody answers on its port");
  const state = JSON.parse(asking.stdout.split("\n")[0]!) as object;
  t.match(state, { state: "active", since: "2026-11-27T17:56:16.000Z", pid: 77, restarts: 2, user: "web" });
  t.match(state, { healthy: false, same_user: false, fault: /ECONNREFUSED/ });
  t.match(await run(["logs", "web", "--lines", "7"]), { code: 0, stdout: "from the journal\n" });
  t.match(await read(), ["--no-pager --lines=7 --unit=sealift-app@web"]);
  const server = (await import("node:http")).createServer((_request, response) => response.end()).listen(port);
  t.teardown(() => server.close());
  t.match(await run(["restart", "web"]), { code: 0, stdout: "web is healthy\n" });
  t.ok((await asked()).includes("--system --no-ask-password restart sealift-app@web.service"));
});

t.test("what is not there is named", async (t) => {
  const { root, run } = await rootOf(t);
  t.match(await run(["status", "api"]), { code: 2, stderr: /There is no application api .*\n.*It has web/ });
  t.match(await run(["logs", "web"]), { code: 0, stdout: "" });
  t.match(await run(["restart", "web"]), { code: 75, stderr: /app serve/ });
  t.match(await run(["env", "api", "set", "A"], "x"), {
    code: 2,
    stderr: /There is no application api .*\n.*It has web/,
  });
  t.equal(statSync(join(root.layout.root, "apps/api.env"), { throwIfNoEntry: false }), undefined);
  t.match(await run(["status"]), {
    code: 75,
    stdout: /^web {2}unknown\n.*\n.*\n {2}health +does not work: .*app serve/,
  });
  mkdirSync(join(root.layout.root, "apps/by-hand"));
  t.match((await run(["status", "by-hand"])).code, 2);
  writeFileSync(join(root.layout.root, "apps/by-hand/app.yaml"), "command: [node, server.js]\n");
  t.match((await run(["status", "by-hand"])).stdout, /applications\.yaml does not grant by-hand/);
});
