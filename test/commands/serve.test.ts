import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { NotifySocket } from "../support/programs/notify-socket.ts";
import { needs } from "../support/programs/optional.ts";
import { until } from "../support/until.ts";

/** The built services as systemd starts them. */

const skip = needs("systemd-notify", "python3");
const KEY = "a-plugin-key-for-tests-only";

interface Service {
  child: ChildProcess;
  socket: NotifySocket;
  stderr: string[];
  exited: Promise<number | null>;
}

async function start(t: Test, program: string, cwd: string, args: string[]): Promise<Service> {
  const socket = await NotifySocket.open(t);
  const file = fileURLToPath(new URL(`../../dist/bin/${program}.js`, import.meta.url));
  const { NODE_OPTIONS: _options, ...environment } = process.env;
  const child = spawn(process.execPath, [file, "--listen", "127.0.0.1:0", ...args], {
    cwd,
    env: { ...environment, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "1500000", PLUGIN_KEY: KEY },
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  const stderr: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => stderr.push(line));
  return { child, socket, stderr, exited: once(child, "exit").then(([code]) => code as number | null) };
}

const READY = /^READY=1\nSTATUS=Serving at http:\/\/127\.0\.0\.1:\d+$/;
const RELOADING = /^RELOADING=1\nMONOTONIC_USEC=\d+$/;
const STOPPING = "STOPPING=1\nSTATUS=Letting the requests in flight end";

t.test("a hub says when it serves, reloads and stops, and pings while it lives", { skip }, async (t) => {
  const cwd = t.testdir({ "sealift.yaml": "log_level: error" });
  const { child, socket, stderr, exited } = await start(t, "hub-serve", cwd, ["--data-dir", join(cwd, "hub")]);
  await socket.until(({ said, pings }) => said.length >= 2 && pings.length >= 2);
  t.match(socket.said, ["STATUS=Opening the storage", READY]);
  const url = socket.said[1]!.replace(/^[^]*at /, "");

  writeFileSync(join(cwd, "sealift.yaml"), "log_level: info");
  child.kill("SIGHUP");
  await socket.until(({ said }) => said.length >= 4);
  t.match(socket.said.slice(2), [RELOADING, "READY=1"]);
  t.match(
    stderr,
    [/"keks":\["kek_[0-9a-f]+"\],"msg":"reloaded/],
    "the level of the configuration file holds from here on",
  );
  await fetch(`${url}/devkeys/projects`, { method: "POST" });
  await until(() => stderr.length >= 2);
  t.match(stderr[1], /"path":"\/devkeys\/projects"/);

  writeFileSync(join(cwd, "sealift.yaml"), "log_level: nonsense");
  writeFileSync(join(cwd, "hub/kek.json"), "no keys");
  child.kill("SIGHUP");
  await socket.until(({ said }) => said.length >= 6);
  t.match(stderr.slice(2), [/could not be read again/, /the KEKs could not be read again/]);
  t.equal((await fetch(`${url}/healthz`)).status, 200, "and it goes on");

  child.kill("SIGTERM");
  t.equal(await exited, 0);
  await socket.until(({ said }) => said.length >= 7);
  t.equal(socket.said[6], STOPPING);
});

t.test("a runtime says when it serves, reloads and stops, and pings while it lives", { skip }, async (t) => {
  const cwd = t.testdir({
    "integration.yaml": "app: { secret_key: '${PLUGIN_KEY}' }",
    plugins: {
      first: {
        "plugin.yaml": "{name: first, version: 1.0.0, entry_point: main.mjs}",
        "main.mjs": `export default { actions: { environment: () => Object.keys(process.env) } };`,
      },
    },
  });
  const { child, socket, exited } = await start(t, "runtime-serve", cwd, []);
  await socket.until(({ said, pings }) => said.length >= 2 && pings.length >= 2);
  t.match(socket.said, ["STATUS=Loading the plugins", READY]);
  child.kill("SIGHUP");
  await socket.until(({ said }) => said.length >= 4);
  t.match(socket.said.slice(2), [RELOADING, "READY=1"]);
  child.kill("SIGTERM");
  t.equal(await exited, 0);
  await socket.until(({ said }) => said.length >= 5);
  t.equal(socket.said[4], STOPPING);
});

t.test("a service that cannot listen never says that it is ready", { skip }, async (t) => {
  const cwd = t.testdir({});
  const { socket, exited } = await start(t, "hub-serve", cwd, [
    "--listen",
    "192.0.2.1:80",
    "--data-dir",
    join(cwd, "hub"),
  ]);
  t.equal(await exited, 2);
  await socket.until(({ said }) => said.length >= 1);
  await sleep(300);
  t.same(socket.said, ["STATUS=Opening the storage"]);
});
