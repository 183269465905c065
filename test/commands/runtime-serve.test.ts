// Holds: what a trusted plugin sees of the environment (lib/runtime/configuration.ts)
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { isAlive } from "../support/runtime/host.ts";
import { until } from "../support/until.ts";

/** The program itself: started, signalled and ended as an operator does it. */

const LAUNCHER = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));
const KEY = "a-plugin-key-for-tests-only";
const headers = { "x-plugin-key": KEY };

interface Program {
  child: ChildProcess;
  stdout: string[];
  stderr: string[];
  exited: Promise<number | null>;
}

const run = (t: Test, cwd: string, ...parameters: string[]): Program => start(t, cwd, parameters);

function start(t: Test, cwd: string, parameters: string[], variables: NodeJS.ProcessEnv = {}): Program {
  const env = { ...process.env, PLUGIN_KEY: KEY, ...variables };
  const child = spawn(process.execPath, [LAUNCHER, "runtime-serve", ...parameters], { cwd, env });
  const program: Program = {
    child,
    stdout: [],
    stderr: [],
    exited: once(child, "exit").then(([code]) => code as number | null),
  };
  createInterface({ input: child.stdout }).on("line", (line) => program.stdout.push(line));
  createInterface({ input: child.stderr }).on("line", (line) => program.stderr.push(line));
  t.teardown(() => child.kill("SIGKILL"));
  return program;
}

const project = (
  t: Test,
  actions = "slow: () => new Promise((done) => setTimeout(() => done('finished'), 800))",
): string =>
  t.testdir({
    "integration.yaml":
      "app: { secret_key: '${PLUGIN_KEY}', server: { port: 0 } }\nplugins: { strict_trusted: false }\n",
    plugins: {
      boxed: {
        "plugin.yaml": "{name: boxed, version: 1.0.0, entry_point: main.mjs}",
        "main.mjs": `export default { actions: { ${actions} } };`,
      },
      inside: {
        "plugin.yaml": "{name: inside, version: 1.0.0, entry_point: main.mjs, execution_mode: trusted}",
        "main.mjs": `export default { actions: {
          throwLater: () => { setTimeout(() => { throw new Error("nobody catches this"); }); return "thrown"; },
          environment: () => ({ ...process.env }),
          rejectLater: () => { void Promise.reject(new Error("nobody awaits this")); return "rejected"; },
        } };`,
      },
    },
  });

async function ready(program: Program): Promise<string> {
  await until(() => program.stdout.length > 0, 20_000);
  return (program.stdout[0] as string).replace(/^ready /, "");
}

t.test("it prints one ready line, drains on SIGTERM, leaves no process behind and exits with 0", async (t) => {
  const program = run(t, project(t), "--listen", "127.0.0.1:0");
  const url = await ready(program);
  t.match(program.stdout, [/^ready http:\/\/127\.0\.0\.1:\d+$/]);
  const status = (await (await fetch(`${url}/plugin/ipc/status`, { headers })).json()) as {
    plugins: { name: string; pid?: number }[];
  };
  const pid = status.plugins.find(({ name }) => name === "boxed")?.pid as number;
  t.ok(isAlive(pid));
  const call = fetch(`${url}/plugin/ipc/boxed/slow`, { method: "POST", headers });
  await new Promise((resolve) => setTimeout(resolve, 200));
  program.child.kill("SIGTERM");
  t.match(await (await call).json(), { status: "ok", result: "finished" });
  t.equal(await program.exited, 0);
  t.notOk(isAlive(pid));
});

t.test("errors that a trusted plugin does not catch are logged and counted, and the runtime goes on", async (t) => {
  const program = run(t, project(t), "--listen", "127.0.0.1:0");
  const url = await ready(program);
  for (const action of ["throwLater", "rejectLater"]) {
    t.equal((await fetch(`${url}/plugin/ipc/inside/${action}`, { method: "POST", headers })).status, 200);
  }
  await until(() => program.stderr.filter((line) => line.includes("in the runtime's process")).length === 2);
  t.match(await (await fetch(`${url}/metrics`, { headers })).text(), "sealift_uncaught_errors_total 2");
});

t.test(
  "a trusted plugin finds none of the runtime's secrets in its environment, and gets what it declares",
  async (t) => {
    const root = project(t);
    const declared = "{name: boxed, version: 1.0.0, entry_point: main.mjs, env: { GREETING: '${WORD}' }}";
    writeFileSync(join(root, "plugins/boxed/plugin.yaml"), declared);
    writeFileSync(
      join(root, "plugins/boxed/main.mjs"),
      "export default { actions: { greeting: (_payload, { env }) => env.GREETING } };",
    );
    const secrets = { SEALIFT_API_KEY: "a", SEALIFT__APP__ENV: "test", OTEL_EXPORTER_OTLP_HEADERS: "b", WORD: "hello" };
    const program = start(t, root, ["--listen", "127.0.0.1:0"], secrets);
    const url = await ready(program);
    const result = async (call: string): Promise<unknown> => {
      const answer = await fetch(`${url}/plugin/ipc/${call}`, { method: "POST", headers });
      return ((await answer.json()) as { result: unknown }).result;
    };
    const seen = (await result("inside/environment")) as Record<string, string>;
    t.match(seen, { PATH: String, WORD: "hello" }, "what is not the runtime's own is the process's");
    const names = ["PLUGIN_KEY", "SEALIFT_API_KEY", "SEALIFT__APP__ENV", "OTEL_EXPORTER_OTLP_HEADERS"];
    for (const name of names) t.notOk(name in seen, name);
    t.equal(await result("boxed/greeting"), "hello");
  },
);

t.test("SIGHUP loads what is new and reloads what is loaded; SIGUSR1 opens no debugger", async (t) => {
  const root = project(t, "version: () => 1");
  const program = run(t, root, "--listen", "127.0.0.1:0");
  const url = await ready(program);
  const version = async (): Promise<unknown> =>
    (await fetch(`${url}/plugin/ipc/boxed/version`, { method: "POST", headers })).json();
  t.match(await version(), { result: 1 });
  writeFileSync(join(root, "plugins/boxed/main.mjs"), "export default { actions: { version: () => 2 } };");
  program.child.kill("SIGHUP");
  await until(async () => ((await version()) as { result: number }).result === 2);
  program.child.kill("SIGUSR1");
  await new Promise((resolve) => setTimeout(resolve, 500));
  t.notOk(program.stderr.some((line) => /Debugger listening/.test(line)));
  t.match(await version(), { result: 2 });
});

t.test(
  "with --json it prints events, and a configuration that is not valid is exit code 2 with every fault",
  async (t) => {
    const program = run(t, project(t), "--listen", "127.0.0.1:0", "--json");
    await until(() => program.stdout.length > 0, 20_000);
    t.match(JSON.parse(program.stdout[0] as string), { v: 1, event: "ready", url: /^http:/ });
    program.child.kill("SIGTERM");
    t.equal(await program.exited, 0);
    t.same(program.stderr, []);
    const broken = run(t, t.testdir({ "broken.yaml": "app: { secret_key: '${NOT_SET}' }" }), "--config", "broken.yaml");
    t.equal(await broken.exited, 2);
    t.match(broken.stderr.join("\n"), /NOT_SET/);
    const absent = run(t, t.testdir({}));
    t.equal(await absent.exited, 2);
    t.match(absent.stderr.join("\n"), /integration\.yaml/);
    const listen = run(t, project(t), "--listen", "nonsense");
    t.equal(await listen.exited, 2);
  },
);

t.test("its own compiled code is kept for the next start, and that of plugins is not", async (t) => {
  const marker = "a-word-of-the-plugin-alone";
  const root = project(t);
  const cache = join(root, "cache");
  mkdirSync(cache, { mode: 0o700 });
  writeFileSync(
    join(root, "plugins/inside/main.mjs"),
    `import http, { WebSocket } from "node:http";
     export default { actions: { same: () => http.WebSocket === WebSocket && "${marker}" } };`,
  );
  const env = { ...process.env, PLUGIN_KEY: KEY, XDG_CACHE_HOME: cache };
  for (const start of ["first", "second"]) {
    const child = spawn(process.execPath, [LAUNCHER, "runtime-serve"], { cwd: root, env });
    t.teardown(() => child.kill("SIGKILL"));
    const exited = once(child, "exit");
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const url = line.replace("ready ", "");
    const answer = await fetch(`${url}/plugin/ipc/inside/same`, { method: "POST", headers, body: "{}" });
    t.match(await answer.json(), { result: marker }, `an import from node:http has all names at the ${start} start`);
    child.kill("SIGTERM");
    t.same(await exited, [0, null]);
  }
  const kept = readdirSync(cache, { recursive: true, withFileTypes: true });
  const files = kept.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  t.ok(files.length > 20, `${files.length} files`);
  t.notOk(files.some((file) => readFileSync(file).includes(marker)));
  t.notOk(kept.some((entry) => entry.isSymbolicLink()));
});
