// Only in test:all: real file systems, which root mounts.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { publishedProject } from "../support/hub/published.ts";
import { startHub } from "../support/hub/real-hub.ts";
import { until } from "../support/until.ts";

/** A log disk that is full: `/dev/full` refuses every byte with ENOSPC. Lines are lost, service is not. */

const FULL = "/dev/full";
const skip = !existsSync(FULL) && "this system has no /dev/full";
const KEY = "a-plugin-key-for-tests-only";

interface Program {
  child: ChildProcess;
  exited: Promise<number | null>;
  stderr: () => string;
}

/** Starts a program from its sources. `null` as a stream is the full disk. */
function start(t: Test, name: string, parameters: string[], { full, cwd }: { full: number[]; cwd: string }): Program {
  const disk = openSync(FULL, "w");
  const program = fileURLToPath(new URL(`../../dist/bin/${name}.js`, import.meta.url));
  const streams = [1, 2].map((fd) => (full.includes(fd) ? disk : ("pipe" as const)));
  const child = spawn(process.execPath, [program, ...parameters], { cwd, stdio: ["ignore", ...streams] });
  closeSync(disk);
  t.teardown(() => child.kill("SIGKILL"));
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  return { child, exited: once(child, "exit").then(([code]) => code as number | null), stderr: () => stderr };
}

/** Seconds that a process has run, in user and kernel mode. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function readyUrl({ child }: Program): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^ready (\S+)/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error("the program ended before it was ready");
}

t.test("a hub goes on serving when its log cannot be written, and ends when it is told to", { skip }, async (t) => {
  const folder = t.testdir({});
  const hub = start(t, "hub-serve", ["--data-dir", "data", "--listen", "127.0.0.1:0"], { full: [2], cwd: folder });
  const url = await readyUrl(hub);
  for (let request = 0; request < 20; request++) {
    const answer = await fetch(`${url}/devkeys/projects`, { method: "POST", body: "{}" });
    t.equal(answer.status, 401);
  }
  t.equal((await fetch(`${url}/healthz`)).status, 200);
  hub.child.kill("SIGTERM");
  t.equal(await hub.exited, 0);
});

t.test("a runtime goes on calling when its log cannot be written, and ends when it is told to", { skip }, async (t) => {
  const folder = t.testdir({
    "integration.yaml": `app: { secret_key: ${KEY}, server: { port: 0 } }\nplugins: { strict_trusted: false }\n`,
    plugins: {
      chatty: {
        "plugin.yaml":
          "{name: chatty, version: 1.0.0, entry_point: main.mjs, resources: {rate_limit: {calls: 10000, period_seconds: 1}}}",
        "main.mjs": `export default { actions: { say: (_p, { logger }) => { logger.info("a line"); return "said"; } } };`,
      },
    },
  });
  const runtime = start(t, "runtime-serve", [], { full: [2], cwd: folder });
  const url = await readyUrl(runtime);
  const call = () => fetch(`${url}/plugin/ipc/chatty/say`, { method: "POST", headers: { "x-plugin-key": KEY } });
  for (let count = 0; count < 50; count++) {
    const answer = await call();
    t.match(await answer.json(), { status: "ok", result: "said" });
  }
  t.ok(cpuSeconds(runtime.child.pid!) < 20, "it does not spin");
  runtime.child.kill("SIGTERM");
  t.equal(await runtime.exited, 0);
});

t.test(
  "a deployment whose events cannot be printed is done all the same, and says what was lost",
  { skip },
  async (t) => {
    const hub = await startHub(t);
    const folder = join(hub.dataDir, "..", "host");
    mkdirSync(join(folder, "root"), { recursive: true });
    const target = await publishedProject(hub, "shop", folder);
    await target.publish("1.0.0");
    const flags = Object.entries(target.options).flatMap(([key, value]) => [`--${key.replaceAll("_", "-")}`, value]);
    const run = start(
      t,
      "deploy-project",
      [
        "--hub-url",
        hub.url,
        "--project-root",
        "root",
        "--host-id",
        "host",
        "--project-id",
        target.slug,
        "--json",
        ...flags,
      ],
      { full: [1], cwd: folder },
    );
    const code = await run.exited;
    t.ok(existsSync(`${folder}/root/${target.folder}`), `it is installed: ${run.stderr()}`);
    t.equal(code, 75, "lost output is not a success");
    t.match(run.stderr(), /error \(output_lost\): \d+ writes to standard output failed: .*ENOSPC/);
  },
);

t.test("a reader that does not read holds up no call, and takes no memory without end", { skip }, async (t) => {
  const folder = t.testdir({
    "integration.yaml": `app: { secret_key: ${KEY}, server: { port: 0 } }\nplugins: { strict_trusted: false }\n`,
    plugins: {
      chatty: {
        "plugin.yaml": "{name: chatty, version: 1.0.0, entry_point: main.mjs, execution_mode: trusted}",
        "main.mjs": `export default { actions: { say: (_p, { logger }) => {
          for (let line = 0; line < 1000; line++) logger.info("x".repeat(8000));
          return "said";
        } } };`,
      },
    },
  });
  const runtime = start(t, "runtime-serve", [], { full: [], cwd: folder });
  const url = await readyUrl(runtime);
  runtime.child.stderr!.pause();
  const headers = { "x-plugin-key": KEY };
  for (let count = 0; count < 50; count++) {
    const answer = await fetch(`${url}/plugin/ipc/chatty/say`, { method: "POST", headers });
    t.equal(answer.status, 200);
  }
  const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${runtime.child.pid}/status`, "utf8"))?.[1]) / 1024;
  t.ok(resident < 350, `400 MB of lines leave it at ${Math.round(resident)} MB`);
  runtime.child.stderr!.resume();
  await until(async () => {
    await fetch(`${url}/plugin/ipc/chatty/say`, { method: "POST", headers });
    return /\d+ log lines were lost/.test(runtime.stderr());
  });
  runtime.child.kill("SIGTERM");
  t.equal(await runtime.exited, 0);
});
