// In a process of its own: it counts processes and connections.
// Holds: how app serve starts, restarts and ends applications (lib/apps/serve.ts,
// lib/apps/managed-application.ts, lib/apps/application-process.ts, lib/apps/launch.ts)
// Holds: what the local surface takes (lib/apps/control.ts, lib/apps/environment.ts)
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import type { AppServeEvent } from "../../../lib/apps/events.ts";
import { AppServe } from "../../../lib/apps/serve.ts";
import { serveFolder } from "../../../lib/releases/applications.ts";
import { rounds } from "../../support/effort.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot, GRANT_USER, HANDED_OVER, ORDINARY } from "../../support/host/application-root.ts";
import { needs } from "../../support/programs/optional.ts";
import { until } from "../../support/until.ts";

const HTTP = { listen: ["http"] };

async function serving(t: Test, root: ApplicationRoot) {
  const events: AppServeEvent[] = [];
  const served = await AppServe.start(root.layout, (event) => events.push(event));
  t.teardown(() => served[Symbol.asyncDispose]());
  return { served, events };
}

const ask = (port: number, host = "127.0.0.1"): Promise<string> =>
  new Promise((resolve, reject) => {
    get({ port, host, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += String(chunk)));
      response.on("end", () => resolve(text));
      response.on("error", reject);
    }).on("error", reject);
  });

/** Asks again until somebody answers. */
async function answered(port: number): Promise<string> {
  let text: string | undefined;
  await until(async () => (text = await ask(port).catch(() => undefined)) !== undefined);
  return text!;
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

t.test("no connection is refused or reset while an application restarts", async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  await root.install("web", { app: HTTP, files: { "server.js": HANDED_OVER } });
  await root.grant({ web: { listen: { http: port } } });
  const { served } = await serving(t, root);
  const restarts = rounds(5, 20);
  const asked: Promise<unknown>[] = [];
  const client = setInterval(
    () =>
      asked.push(
        ask(port).then(
          () => undefined,
          ({ message }: Error) => message,
        ),
      ),
    5,
  );
  t.teardown(() => clearInterval(client));
  const pids = new Set<number>();
  for (let count = 0; count < restarts; count++) {
    await root.install("web", { app: HTTP, files: { "server.js": HANDED_OVER } });
    pids.add((await served.act("web", "restart")).pid!);
    await sleep(100);
  }
  clearInterval(client);
  const faults = (await Promise.all(asked)).filter((fault) => fault !== undefined);
  t.same(faults, [], `${asked.length} requests`);
  t.ok(asked.length > 50);
  t.equal(pids.size, restarts, "a new process each time");
  t.equal(served.statuses()[0]?.release, `r${restarts + 1}`);
  t.equal(served.statuses()[0]?.restarts, 0, "none of them counts as an end by itself");
});

t.test("started before any deployment, it lets the users of applications reach later releases", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.grant({ web: {} });
  await serving(t, root);
  t.equal((await stat(root.layout.sealift)).mode & 0o055, 0o055);
  t.equal((await stat(serveFolder(root.layout))).mode & 0o777, 0o700);
});

t.test("an ordinary application listens by itself on PORT, before and after a restart", async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  await root.install("web", { app: { ports: ["http"] }, files: { "server.js": ORDINARY } });
  await root.grant({ web: { listen: { http: port } } });
  const { served } = await serving(t, root);
  const first = await answered(port);
  const { pid } = await served.act("web", "restart");
  const second = await answered(port);
  t.not(first, second);
  t.equal(second, String(pid));
});

t.test("a Python program takes the socket, too", { skip: needs("python3") }, async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  const program = `
import http.server, socket, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(f"{os.environ['LISTEN_PID'] == str(os.getpid())} {os.environ['LISTEN_FDNAMES']}".encode())
server = http.server.HTTPServer(("", 0), Handler, bind_and_activate=False)
server.socket = socket.socket(fileno=3)
server.serve_forever()
`;
  const command = ["python3", "server.py"];
  await root.install("web", { app: { ...HTTP, health: { stays_up: 1 } }, command, files: { "server.py": program } });
  await root.grant({ web: { listen: { http: `127.0.0.1:${port}` } } });
  await serving(t, root);
  t.equal(await answered(port), "True http");
});

t.test("the environment is clean, with the operator's settings and the addresses", async (t) => {
  process.env.SECRET_OF_SERVE = "s";
  t.teardown(() => delete process.env.SECRET_OF_SERVE);
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  const files = {
    "server.js": `require("http").createServer((q, r) => r.end(JSON.stringify([process.env, process.cwd()])))
      .listen(process.env.LISTEN_FDS === undefined ? Number(process.env.PORT) : { fd: 3 })`,
  };
  await root.install("web", { app: { ...HTTP, environment: { required: ["DATABASE_URL"] } }, files });
  await root.grant({ web: { listen: { http: port } } });
  const { served } = await serving(t, root);
  t.match(served.statuses()[0], { state: "waiting", error: /needs values for DATABASE_URL/ });
  await writeFile(join(root.layout.root, "apps/web.env"), `DATABASE_URL="postgres://h/d"\nPORT=1\n`, { mode: 0o600 });
  await served.act("web", "restart");
  const [environment, folder] = JSON.parse(await answered(port)) as [Record<string, string>, string];
  t.match(environment, {
    DATABASE_URL: "postgres://h/d",
    PORT: String(port),
    HOST: "127.0.0.1",
    LISTEN_FDNAMES: "http",
  });
  t.equal(environment.SECRET_OF_SERVE, undefined);
  t.match(folder, /\/releases\/project-p\/r1\/apps\/web$/, "the real path of its folder");
  await root.install("web", { app: { ports: ["http"] }, files });
  await served.act("web", "restart");
  const [plain] = JSON.parse(await answered(port)) as [Record<string, string>];
  t.strictSame(
    Object.keys(plain).filter((name) => name.startsWith("LISTEN_")),
    [],
    "no socket, no word of one",
  );
});

t.test("a pipe in the place of settings is told by its path, and holds nothing up", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { app: HTTP, files: { "server.js": "" } });
  await root.grant({ web: { listen: { http: await freePort() } } });
  const file = join(root.layout.root, "apps/web.env");
  execFileSync("mkfifo", [file]);
  const { served } = await serving(t, root);
  t.match(served.statuses()[0], { state: "waiting", error: `${file} cannot be read: it is a pipe` });
});

t.test("an application that ends is started again, ever later; going back starts it at once", async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  await root.install("web", { app: HTTP, files: { "server.js": "setTimeout(() => process.exit(3), 50)" } });
  await root.grant({ web: { listen: { http: port } } });
  const { served, events } = await serving(t, root);
  await until(() => events.filter(({ event }) => event === "application.ended").length === 2);
  const pauses = events.flatMap((event) => (event.event === "application.ended" ? [event.restart_ms] : []));
  t.same(pauses, [1_000, 2_000]);
  t.match(served.statuses()[0], { state: "waiting", restarts: 1, error: "it ended with exit code 3" });
  await root.install("web", { app: HTTP, files: { "server.js": HANDED_OVER } });
  await served.act("web", "restart");
  t.match(served.statuses()[0], { state: "running", restarts: 0, error: null });
  t.ok(await ask(port));
});

t.test("a process that ignores its signal is killed, with all of its group", async (t) => {
  const root = await ApplicationRoot.make(t);
  const stubborn = `process.on("SIGTERM", () => {});
    const child = require("child_process").spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
    console.log("child", child.pid); setInterval(() => {}, 1000);`;
  await root.install("worker", { app: { stop: { within: 1 } }, files: { "server.js": stubborn } });
  await root.grant({ worker: {} });
  const { served } = await serving(t, root);
  const log = join(root.layout.sealift, "logs/apps/worker/log");
  const childOf = async () => Number(/child (\d+)/.exec(await readFile(log, "utf8").catch(() => ""))?.[1] ?? 0);
  await until(async () => (await childOf()) > 0);
  const pids = [served.statuses()[0]!.pid!, await childOf()];
  t.ok(pids.every(isAlive));
  const begun = performance.now();
  await served.act("worker", "stop");
  t.ok(performance.now() - begun >= 950);
  // Whoever adopted the child may be slow to take its exit code.
  await until(() => !pids.some(isAlive));
  t.equal(served.statuses()[0]?.state, "stopped");
});

for (const how of ["stopped", "closed"])
  t.test(`a process that forks and leaves is ended with what it left, when ${how} in the pause`, async (t) => {
    const root = await ApplicationRoot.make(t);
    const leaving = `const { spawn } = require("child_process");
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "inherit" });
      console.log("child", child.pid); child.unref(); process.exit(0);`;
    await root.install("daemon", { files: { "server.js": leaving } });
    await root.grant({ daemon: {} });
    const { served, events } = await serving(t, root);
    await until(() => events.some(({ event }) => event === "application.ended"));
    t.match(served.statuses()[0], { state: "waiting", error: "it ended with exit code 0" });
    const log = join(root.layout.sealift, "logs/apps/daemon/log");
    const leftOf = async () => Number(/child (\d+)/.exec(await readFile(log, "utf8").catch(() => ""))?.[1] ?? 0);
    await until(async () => (await leftOf()) > 0);
    const left = await leftOf();
    t.ok(isAlive(left));
    // Root without CAP_SYS_PTRACE cannot see the environment of another user's process.
    const isSeen = existsSync("/proc") && (await readFile(`/proc/${left}/environ`).then(Boolean, () => false));
    await (how === "stopped" ? served.act("daemon", "stop") : served[Symbol.asyncDispose]());
    if (!isSeen) return void process.kill(left, "SIGKILL");
    // Whoever adopted it may be slow to take its exit code.
    await until(() => !isAlive(left));
  });

t.test("a flood of output is bounded on the disk", async (t) => {
  const root = await ApplicationRoot.make(t);
  const flood = `const line = "x".repeat(64 * 1024) + "\\n"; let left = 1000;
    const go = () => { while (left-- > 0) if (!process.stdout.write(line)) return process.stdout.once("drain", go); require("fs"); process.exit(9); }; go();`;
  await root.install("loud", { files: { "server.js": flood } });
  await root.grant({ loud: {} });
  const { served, events } = await serving(t, root);
  await until(() => events.some(({ event }) => event === "application.ended"));
  await served.act("loud", "stop");
  const folder = join(root.layout.sealift, "logs/apps/loud");
  const names = (await readdir(folder)).toSorted();
  t.same(names, ["log", "log.1", "log.2", "log.3"]);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  t.ok(
    sizes.every((size) => size <= 8 * 1024 * 1024),
    sizes.join(" "),
  );
});

t.test("a full disk costs lines of the log, and nothing else", { skip: !existsSync("/dev/full") }, async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  const files = { "server.js": `${HANDED_OVER} setInterval(() => console.log("x".repeat(100_000)), 5);` };
  await root.install("web", { app: HTTP, files });
  await root.grant({ web: { listen: { http: port } } });
  const log = join(root.layout.sealift, "logs/apps/web/log");
  await mkdir(dirname(log), { recursive: true });
  await symlink("/dev/full", log);
  const { served } = await serving(t, root);
  const pid = await answered(port);
  for (let asked = 0; asked < 20; asked++) t.equal(await ask(port), pid);
  await rm(log);
  await until(async () => ((await stat(log).catch(() => undefined))?.size ?? 0) > 100_000);
  t.match(served.statuses(), [{ state: "running", restarts: 0 }]);
});

t.test("a migration runs between the old process and the new one; its failure fails the restart", async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  await root.install("web", { app: HTTP, files: { "server.js": HANDED_OVER } });
  await root.grant({ web: { listen: { http: port } } });
  const { served } = await serving(t, root);
  const old = served.statuses()[0]!.pid!;
  const migration = `console.log("old process:", require("fs").existsSync("/proc/${old}") ? "alive" : "gone"); process.exit(Number(process.argv[2]))`;
  const migrating = (code: string) => ({
    ...{ app: HTTP, migrate: ["node", "migrate.js", code] },
    files: { "server.js": HANDED_OVER, "migrate.js": migration },
  });
  await root.install("web", migrating("4"));
  await t.rejects(served.act("web", "restart"), { code: "migration_failed", message: /ended with exit code 4/ });
  t.match(served.statuses()[0], { state: "failed", pid: null });
  const killed = { ...migrating("0"), migrate: ["sh", "-c", "kill -9 $$"] };
  await root.install("web", killed);
  await t.rejects(served.act("web", "restart"), { code: "migration_failed", message: /was ended by SIGKILL/ });
  const waiting = ask(port);
  await root.install("web", migrating("0"));
  await served.act("web", "restart");
  t.ok(await waiting, "a connection made while it was down is answered");
  t.match(await readFile(join(root.layout.sealift, "logs/apps/web/log"), "utf8"), /old process: gone/);
});

t.test("a hanging migration is interrupted by the next request", async (t) => {
  const root = await ApplicationRoot.make(t);
  const waits = "process.on('SIGTERM', () => process.exit(0)); console.log('waits'); setInterval(() => {}, 1000)";
  const hanging = { migrate: ["node", "-e", waits], files: { "server.js": "" } };
  await root.install("web", { files: { "server.js": "setInterval(() => {}, 1000)" } });
  await root.grant({ web: {} });
  const { served } = await serving(t, root);
  await root.install("web", hanging);
  const failing = t.rejects(served.act("web", "restart"), { code: "migration_failed", message: /another request/ });
  await until(() => served.statuses()[0]?.state === "starting");
  const log = join(root.layout.sealift, "logs/apps/web/log");
  await until(async () => /^waits$/m.test(await readFile(log, "utf8")));
  await served.act("web", "stop");
  await failing;
});

t.test("a port that another program has is named, for both kinds of addresses", async (t) => {
  const root = await ApplicationRoot.make(t);
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  t.teardown(() => other.close());
  const { port } = other.address() as { port: number };
  await root.install("a", { app: HTTP, files: { "server.js": HANDED_OVER } });
  await root.install("b", { app: { ports: ["web"] }, files: { "server.js": ORDINARY } });
  await root.grant({ a: { listen: { http: port } }, b: { listen: { web: `127.0.0.1:${port}` } } }).catch(() => {});
  await root.grant({ a: { listen: { http: port } } });
  const { served } = await serving(t, root);
  await t.rejects(served.act("a", "start"), { code: "port_taken", message: new RegExp(`127.0.0.1:${port}`) });
  await root.grant({ b: { listen: { web: port } } });
  await t.rejects(served.act("b", "start"), { code: "port_taken" });
});

t.test("without a grant, a user or a release nothing is started", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { app: HTTP, files: { "server.js": HANDED_OVER } });
  await root.grant({ web: {}, other: {}, own: { same_user: false, user: undefined } });
  await root.install("own", { files: { "server.js": "" } });
  const { served } = await serving(t, root);
  t.match(served.statuses(), [
    { id: "web", state: "stopped", error: /gives web no address for http/ },
    { id: "other", state: "stopped", error: /not installed/ },
    { id: "own", state: "stopped", error: "user" in GRANT_USER ? /names no user/ : /--same-user/ },
  ]);
  await t.rejects(served.act("stranger", "start"), { code: "not_granted" });
  t.match(await served.act("stranger", "stop"), { state: "stopped" }, "whatever an earlier one has left of it ends");
});

t.test("an application whose grant is withdrawn ends when somebody restarts it", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { files: { "server.js": "setInterval(() => {}, 1000)" } });
  await root.grant({ web: {} });
  const { served } = await serving(t, root);
  const { pid } = served.statuses()[0]!;
  await root.grant({});
  await t.rejects(served.act("web", "restart"), { code: "not_granted" });
  t.match(served.statuses(), [{ state: "failed", pid: null }]);
  t.notOk(isAlive(pid!));
});

t.test("one root has one", async (t) => {
  const root = await ApplicationRoot.make(t);
  await t.rejects(
    AppServe.start(root.layout, () => {}),
    { code: "config_invalid" },
  );
  await root.grant({});
  await serving(t, root);
  await t.rejects(
    AppServe.start(root.layout, () => {}),
    { code: "apps_served", exitCode: 75 },
  );
});

t.test("the local surface is its own user's, and takes nothing else", async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.grant({});
  await mkdir(serveFolder(root.layout), { recursive: true, mode: 0o755 });
  await serving(t, root);
  const socketPath = join(serveFolder(root.layout), "serve.sock");
  t.equal((await stat(serveFolder(root.layout))).mode & 0o777, 0o700);
  t.equal((await stat(socketPath)).mode & 0o777, 0o600);
  const status = (path: string, method = "GET", body = "") =>
    new Promise<number | string>((resolve) => {
      const request = get({
        socketPath,
        path,
        method,
        agent: false,
        ...(body !== "" && { headers: { "content-length": body.length } }),
      });
      request.on("response", (response) => resolve(response.resume().statusCode ?? 0));
      request.on("error", ({ message }) => resolve(message));
      request.end(body);
    });
  t.equal(await status("/v1/applications"), 200);
  for (const [path, method] of [
    ["/v1/applications", "POST"],
    ["/v1/applications/We!b/start", "POST"],
    ["/v1/applications/web/start", "GET"],
    ["/v1/applications/web/health", "DELETE"],
    ["/v1/applications/web/destroy", "POST"],
    ["/v1/applications/../web/start", "POST"],
    ["/v1/applications/web/start/again", "POST"],
    ["/", "GET"],
  ] as const)
    t.equal(await status(path, method), 404, `${method} ${path}`);
  t.equal(await status("/v1/applications/web/start", "POST"), 403);
  for (const method of ["GET", "POST"]) t.equal(await status("/v1/applications/web/health", method), 200, method);
});
