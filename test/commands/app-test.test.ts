import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { stringify } from "yaml";
import { freePort } from "../support/free-port.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const PLAN = `format_version: "1"
project_id: prj_0123456789abcdef
steps:
  - {id: prepare, action: prepare}
  - {id: install-web, action: install_app, app: web}
`;

const SERVER = `
const fs = require("node:fs");
console.log(JSON.stringify({ data: fs.readdirSync("storage"), env: process.env }));
fs.writeFileSync("storage/written", "");
const server = require("node:http").createServer((request, response) => {
  response.writeHead(Number(process.env.ANSWER)).end();
});
if (process.env.SILENT === undefined) server.listen({ fd: 3 });
setTimeout(() => process.exit(7), Number(process.env.DIES_AFTER || 60_000));
process.on("SIGTERM", () => process.env.STAYS === undefined && process.exit(0));
`;

const APP = {
  command: ["node", "server.js"],
  listen: ["http"],
  health: { http: "/", within: 1, stays_up: 1 },
  migrate: ["node", "migrate.js"],
  data: "storage",
  environment: { required: ["ANSWER"] },
  stop: { within: 1 },
};
const MIGRATE = `console.log("it migrates"); process.exit(Number(process.env.MIGRATION || 0))`;

/** A project with the application `web`. */
function project(t: Test, settings: string, app: object = {}): string {
  const root = temporaryFolder(t);
  const files: Record<string, string> = {
    "deployment/install.yaml": PLAN,
    "apps/web/app.yaml": stringify({ ...APP, ...app }),
    "apps/web/server.js": SERVER,
    "apps/web/migrate.js": MIGRATE,
    "apps/web/storage/seed": "s",
    "apps/web/.env": settings,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Runs the trial with a place for temporary files of its own, which must be empty afterwards. */
async function trial(t: Test, folder: string, ...more: string[]) {
  const temporary = temporaryFolder(t);
  chmodSync(temporary, 0o755);
  const env = { TMPDIR: temporary, SECRET_OF_THE_AUTHOR: "x" };
  const ended = await commandLine(["app", "test", folder, ...more], { env });
  t.strictSame(readdirSync(temporary), [], "nothing stays behind");
  return ended;
}

t.test("an application that works passes step by step, in a copy of what would be packed", async (t) => {
  const root = project(t, "ANSWER=200\n");
  const { code, stdout, stderr } = await trial(t, join(root, "apps/web"), "--json");
  t.equal(code, 0, stdout + stderr);
  const events = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  t.strictSame(
    events.map(({ event }) => event),
    ["packed", "migrated", "started", "answered", "stayed_up", "stopped"]
      .map((step) => `trial.${step}`)
      .concat("result"),
  );
  t.match(events[0], { id: "web", files: 4 });
  t.match(events[2], { addresses: { http: /^127\.0\.0\.1:\d+$/ } });
  t.ok(Number(events[4]!["duration_ms"]) >= 1000);
  t.notOk(existsSync(join(root, "apps/web/storage/written")), "the author's folder stays as it is");
  t.throws(() => process.kill(events[2]!["pid"] as number, 0), { code: "ESRCH" }, "no process is left");
  const people = await trial(t, root);
  t.match(
    people.stdout,
    /^packed {4}web: 4 files, .*\nmigrated .*\nstarted .*\nanswered .*\nstayed up .*\nstopped .*\n$/,
  );
  t.match(people.stderr, /storage has 1 file, which is seed/);
  t.match(people.stderr, "left out: apps/web/.env (.env)");
});

t.test("a port that app.yaml does not name, or that is open to other machines, is said", async (t) => {
  const listening = (address: string) => `
    require("node:http").createServer((_, response) => response.end()).listen(${address});
    process.on("SIGTERM", () => process.exit(0));`;
  const app = { listen: [], health: { stays_up: 1 }, migrate: ["node", "migrate.js"], environment: {} };
  const said = async (server: string, more: object = {}) => {
    const root = project(t, "", { ...app, ...more });
    writeFileSync(join(root, "apps/web/server.js"), server);
    return (await trial(t, join(root, "apps/web"))).stdout;
  };
  const port = await freePort();
  t.match(await said(listening(`${port}, "127.0.0.1"`)), `listens   on port ${port}, which app.yaml does not name`);
  const own = { ports: ["http"] };
  t.match(await said(listening("Number(process.env.PORT)"), own), /listens +on port \d+ of every address/);
  t.notMatch(await said(listening("Number(process.env.PORT), process.env.HOST"), own), /listens/);
  const root = project(t, "", { ...app, command: ["./run"] });
  writeFileSync(join(root, "apps/web/run"), "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
  const { code, stderr } = await trial(t, root);
  t.match(code, 0, stderr);
  t.notMatch(stderr, "a host looks in", "a program of its own is found in its folder");
});

t.test("its environment is that of a host, and nothing of the author's", async (t) => {
  const root = project(t, "ANSWER=200\nDIES_AFTER=1\n");
  const { code, stdout } = await trial(t, root);
  t.equal(code, 1);
  const said = JSON.parse(stdout.split("\n").find((line) => line.includes('{"data"'))!) as {
    data: string[];
    env: Record<string, string>;
  };
  t.strictSame(said.data, ["seed"]);
  t.match(said.env, { ANSWER: "200", NODE_ENV: "production", LISTEN_FDNAMES: "http" });
  t.notOk(said.env["SECRET_OF_THE_AUTHOR"]);
});

t.test("a trial that fails says why, and shows the last lines of output", async (t) => {
  const failing: [settings: string, code: string, message: RegExp, output: RegExp][] = [
    ["MIGRATION=5", "migration_failed", /^The migration of web failed: it ended with exit code 5\.$/, /it migrates/],
    ["ANSWER=500", "unhealthy", /GET .* answered 500, for 1 second/, /"ANSWER":"500"/],
    ["DIES_AFTER=100", "unhealthy", /it ended with exit code 7/, /"data"/],
    ["SILENT=1\nDIES_AFTER=9000", "unhealthy", /for 1 second|no answer within/, /"SILENT"/],
    ["STAYS=1", "unhealthy", /^web did not end within 1 s of SIGTERM, and was killed\.$/, /"STAYS"/],
  ];
  for (const [settings, code, message, output] of failing) {
    const { code: exit, stdout } = await trial(t, project(t, `ANSWER=200\n${settings}\n`), "--json");
    t.equal(exit, 1, settings);
    for (const line of stdout.trim().split("\n")) t.doesNotThrow(() => void JSON.parse(line), line);
    const result = JSON.parse(stdout.trim().split("\n").at(-1)!) as { error: object; output: string[] };
    t.match(result.error, { code, message }, settings);
    t.match(result.output.join("\n"), output, settings);
  }
});

t.test("required settings without a value, and folders that no project publishes, are named", async (t) => {
  const root = project(t, "ANSWER=\n", { environment: { required: ["ANSWER", "OTHER"] } });
  t.match(await trial(t, root), {
    code: 1,
    stderr: /env_missing.*web needs values for ANSWER, OTHER.*\n.*apps\/web\/\.env/,
  });
  const file = join(temporaryFolder(t), "settings");
  t.equal((await trial(t, root, "--env-file", file)).code, 2, "a file that is not there");
  writeFileSync(file, "ANSWER=200\nOTHER=1\n");
  t.equal((await trial(t, root, "--env-file", file)).code, 0);
  t.match(await trial(t, temporaryFolder(t)), { code: 2, stderr: /No project publishes .*\n.*app init/ });
  mkdirSync(join(root, "apps/beside"));
  t.match(await trial(t, join(root, "apps/beside")), { code: 2, stderr: /installs no application .*\n.*install_app/ });
  if (process.getuid?.() === 0)
    for (const [user, message] of [
      ["sealift-no-such-user", /This machine has no user sealift-no-such-user/],
      ["root", /No application runs as root/],
    ] as const) {
      const refused = await trial(t, root, "--env-file", file, "--user", user);
      t.match(refused, { code: 2, stderr: message });
      t.notMatch(refused.stdout, "last lines", "it has written nothing");
    }
  const plan = readFileSync(join(root, "deployment/install.yaml"), "utf8");
  writeFileSync(join(root, "deployment/install.yaml"), plan.replace("app: web", "app: other"));
  t.match(await trial(t, root), { code: 2, stderr: /source_invalid.*apps\/other/ });
  t.match(await trial(t, project(t, "", { command: ["no-such-program"] })), { code: 1, stderr: /env_missing/ });
  t.match(await trial(t, project(t, "ANSWER=200\n", { command: ["no-such-program"] })), {
    code: 1,
    stderr: /needs_unmet.*no-such-program: it is not installed/,
  });
});

t.test("an interrupted trial leaves no process and no folder", async (t) => {
  const root = project(t, "ANSWER=200\nSTAYS=1\n", { health: { stays_up: 60 } });
  const temporary = temporaryFolder(t);
  chmodSync(temporary, 0o755);
  const env = { ...process.env, TMPDIR: temporary };
  const child: ChildProcess = spawn(process.execPath, ["bin/sealift.ts", "app", "test", root, "--json"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    said += String(chunk);
    if (said.includes("trial.started")) break;
  }
  child.kill("SIGINT");
  t.strictSame(await once(child, "exit"), [130, null]);
  const { pid } = JSON.parse(said.split("\n").find((line) => line.includes("trial.started"))!) as { pid: number };
  t.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  t.strictSame(readdirSync(temporary), []);
});

t.test("a trial packs what a publication with its options and its project's sealift.yaml packs", async (t) => {
  const root = project(t, "ANSWER=200\n", {
    migrate: ["node", "needs.js"],
    health: { http: "/", within: 1, stays_up: 1 },
  });
  writeFileSync(
    join(root, "apps/web/needs.js"),
    `require("./certificate.pem.js"); require("left"); require("node:fs").readFileSync("own.pem");`,
  );
  writeFileSync(join(root, "apps/web/certificate.pem.js"), "");
  writeFileSync(join(root, "apps/web/own.pem"), "");
  // As `pnpm deploy` leaves it, which is packed with --with-dependencies only.
  writeFileSync(join(root, "apps/web/pnpm-lock.yaml"), "");
  writeFileSync(join(root, "apps/web/package.json"), `{ "name": "web", "dependencies": { "left": "1" } }`);
  const installed = join(root, "apps/web/node_modules/left");
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, "package.json"), `{ "name": "left", "version": "1.0.0", "main": "index.js" }`);
  writeFileSync(join(installed, "index.js"), "");
  t.match(await trial(t, root), { code: 1, stdout: /migration_failed|Cannot find module/ });
  const flags = await trial(t, root, "--include", "*.pem", "--with-dependencies");
  t.equal(flags.code, 0, flags.stdout + flags.stderr);
  writeFileSync(join(root, "sealift.yaml"), `include: ["*.pem"]\nwith_dependencies: true\n`);
  for (const folder of [root, join(root, "apps/web")]) t.equal((await trial(t, folder)).code, 0, folder);
  t.match(await trial(t, root, "--max-entries", "3"), { code: 2, stderr: /holds more than 3 files/ });
});

t.test("another program of an application, and a job, are tried in its folder and with its settings", async (t) => {
  const root = project(t, "ANSWER=200\nGREETING=hello\n");
  const add = (id: string, app: object): void => {
    mkdirSync(join(root, "apps", id));
    writeFileSync(join(root, "apps", id, "app.yaml"), stringify(app));
    const plan = join(root, "deployment/install.yaml");
    writeFileSync(plan, `${readFileSync(plan, "utf8")}  - {id: install-${id}, action: install_app, app: ${id}}\n`);
  };
  writeFileSync(
    join(root, "apps/web/other.js"),
    `
    console.log(process.env.GREETING, require("node:fs").readdirSync("storage"));
    if (process.argv[2] === "fails") process.exit(4);
    if (process.argv[2] === "stays") setInterval(() => {}, 1000);`,
  );
  const command = ["node", "other.js"];
  add("worker", { of: "web", command: [...command, "stays"], health: { within: 1, stays_up: 1 } });
  add("night", { of: "web", command, schedule: "30 3 * * *" });
  add("failing", { of: "web", command: [...command, "fails"], schedule: "30 3 * * *" });
  const tried = (id: string) => commandLine(["app", "test", join(root, "apps", id)], { cwd: root });
  t.match(await commandLine(["app", "test", root]), { code: 2, stderr: /has the applications .*\n.*Name the folder/ });
  t.match(await tried("worker"), { code: 0, stdout: /stayed up/ });
  t.match(await tried("night"), { code: 0, stdout: /ended +well/ });
  t.match(await tried("failing"), {
    code: 1,
    stdout: /hello \[ 'seed' \]/,
    stderr: /The job failing failed: it ended with exit code 4/,
  });
});
