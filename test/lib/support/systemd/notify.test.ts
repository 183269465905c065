// Only in test:all: services that tell systemd of themselves for half a minute.
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { systemdNotifier } from "../../../../lib/support/systemd/notify.ts";
import { NotifySocket } from "../../../support/programs/notify-socket.ts";
import { needs } from "../../../support/programs/optional.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";

const PROGRAM = fileURLToPath(new URL("../../../support/programs/notifying-program.ts", import.meta.url));
const skip = needs("systemd-notify", "python3");
const { PATH } = process.env;

const notifierFor = (t: Test, environment: NodeJS.ProcessEnv, warnings: string[] = []) => {
  const notifier = systemdNotifier({
    environment: { PATH, ...environment },
    warn: (message) => warnings.push(message),
  });
  t.teardown(() => notifier[Symbol.dispose]());
  return notifier;
};

/** A `systemd-notify` of the test's own, first on the path. @returns that path */
function fakeProgram(t: Test, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), "sealift-notify-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "systemd-notify"), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, "systemd-notify"), 0o755);
  return `${folder}:${PATH}`;
}

/** The lines of a log, as soon as it has so many, or what there is after twenty seconds. */
async function linesOf(log: string, count: number): Promise<string[]> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const lines = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
    if (lines.length >= count || Date.now() > deadline) return lines;
    await sleep(20);
  }
}

t.test(
  "a service says that it is ready, what it does and that it stops, in this order and nothing after it",
  { skip },
  async (t) => {
    const socket = await NotifySocket.open(t);
    const notifier = notifierFor(t, { NOTIFY_SOCKET: socket.path });
    notifier.status("Starting");
    notifier.ready("Serving at http://127.0.0.1:8787");
    notifier.stopping("Ending");
    notifier.status("late");
    notifier.ready();
    await socket.until(({ said }) => said.length >= 3);
    await sleep(1500);
    t.same(socket.said, [
      "STATUS=Starting",
      "READY=1\nSTATUS=Serving at http://127.0.0.1:8787",
      "STOPPING=1\nSTATUS=Ending",
    ]);
  },
);

t.test(
  "of many status lines at once the first and the latest are sent, and at most one a second",
  { skip },
  async (t) => {
    const socket = await NotifySocket.open(t);
    const notifier = notifierFor(t, { NOTIFY_SOCKET: socket.path });
    for (let count = 1; count <= 100; count++) notifier.status(`deployed ${count}`);
    await socket.until(({ said }) => said.includes("STATUS=deployed 100"));
    t.same(socket.said, ["STATUS=deployed 1", "STATUS=deployed 100"]);
    const [first, second] = socket.messages;
    t.ok(second!.at - first!.at >= 950, "a second lies between them");
  },
);

t.test(
  "a status line cannot smuggle variables of the protocol, nor grow past what systemd reads",
  { skip },
  async (t) => {
    const socket = await NotifySocket.open(t);
    const notifier = notifierFor(t, { NOTIFY_SOCKET: socket.path });
    notifier.ready("a\nMAINPID=1\r\u2028b");
    notifier.stopping("€".repeat(5000));
    await socket.until(({ said }) => said.length === 2);
    t.equal(socket.said[0], "READY=1\nSTATUS=a MAINPID=1 b");
    t.ok(Buffer.byteLength(socket.said[1]!) < 4096);
  },
);

t.test(
  "a reload says so until its end, however it ends; before the service is ready it says nothing",
  { skip },
  async (t) => {
    const socket = await NotifySocket.open(t);
    const notifier = notifierFor(t, { NOTIFY_SOCKET: socket.path });
    t.equal(await notifier.reload(async () => "early"), "early");
    notifier.ready();
    await t.rejects(
      notifier.reload(() => Promise.reject(new Error("broken"))),
      { message: "broken" },
    );
    await socket.until(({ said }) => said.length >= 3);
    t.match(socket.said, ["READY=1", /^RELOADING=1\nMONOTONIC_USEC=\d+$/, "READY=1"]);
  },
);

t.test("a blocked event loop sends no pings; a living one sends three an interval", { skip }, async (t) => {
  const socket = await NotifySocket.open(t);
  const { NODE_OPTIONS: _options, ...environment } = process.env;
  const started = Date.now();
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [PROGRAM, "4000", "3000"], {
    env: { ...environment, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "1200000" },
  });
  t.equal(stderr, "");
  const { start, end } = JSON.parse(stdout) as { start: number; end: number };
  const within = (from: number, to: number): number => socket.pings.filter(({ at }) => at >= from && at < to).length;
  t.ok(within(started, start) >= 2, "pings before");
  // One may be on its way when the loop stops.
  t.ok(within(start, end) <= 1, `${within(start, end)} pings in three blocked seconds`);
  t.ok(within(end, Date.now()) >= 2, "pings after");
  t.same(socket.said, ["READY=1\nSTATUS=Ready", "STATUS=Waiting for its turn", "STOPPING=1\nSTATUS=Bye"]);
});

t.test("pings are sent for this process and its parent, and not for another one", { skip }, async (t) => {
  const socket = await NotifySocket.open(t);
  const options = { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "300000" };
  notifierFor(t, { ...options, WATCHDOG_PID: "1" }).ready();
  await sleep(600);
  t.same(socket.pings, []);
  for (const WATCHDOG_PID of [process.pid, process.ppid]) {
    const before = socket.pings.length;
    const notifier = notifierFor(t, { ...options, WATCHDOG_PID: String(WATCHDOG_PID) });
    await sleep(600);
    t.equal(socket.pings.length, before, "none arms the watchdog while the service starts");
    notifier.ready();
    await socket.until(({ pings }) => pings.length > before);
    notifier.stopping();
  }
});

t.test("messages do not overtake each other, however slow the first one is", async (t) => {
  const log = join(t.testdir(), "log");
  const path = fakeProgram(t, `case "$1" in READY=1) sleep 0.5;; esac; echo "$1" >> '${log}'`);
  const notifier = notifierFor(t, { NOTIFY_SOCKET: "/nowhere", PATH: path });
  notifier.ready();
  notifier.status("Serving");
  notifier.stopping();
  t.same(await linesOf(log, 3), ["READY=1", "STATUS=Serving", "STOPPING=1"]);
});

t.test("a slow program is not started again for the next ping", async (t) => {
  const log = join(temporaryFolder(t), "log");
  const path = fakeProgram(
    t,
    `[ "$1" = WATCHDOG=1 ] || exit 0; echo start >> '${log}'; sleep 0.5; echo end >> '${log}'`,
  );
  notifierFor(t, { NOTIFY_SOCKET: "/nowhere", PATH: path, WATCHDOG_USEC: "150000" }).ready();
  const lines = await linesOf(log, 6);
  t.ok(lines.length >= 6, "it was started again after its end");
  for (const [at, line] of lines.entries()) t.equal(line, at % 2 === 0 ? "start" : "end");
});

t.test("a program that fails, hangs or is missing is told once, and ends nothing", async (t) => {
  const cases = {
    failing: {
      path: fakeProgram(t, "echo no such socket >&2; exit 1"),
      message: /systemd-notify failed: no such socket$/,
    },
    missing: { path: t.testdir({ empty: {} }), message: /systemd-notify failed: .*ENOENT/ },
    hanging: { path: fakeProgram(t, "exec sleep 60"), message: /systemd-notify failed: it did not end$/ },
  };
  await Promise.all(
    Object.entries(cases).map(async ([name, { path, message }]) => {
      const warnings: string[] = [];
      const notifier = notifierFor(t, { NOTIFY_SOCKET: "/nowhere", PATH: path, WATCHDOG_USEC: "150000" }, warnings);
      notifier.ready();
      notifier.status("Serving");
      await until(() => warnings.length > 0);
      await sleep(500);
      t.equal(warnings.length, 1, name);
      t.match(warnings[0], message);
    }),
  );
});

t.test("the program gets the socket and the path, and no other program speaks for the service", async (t) => {
  const log = join(t.testdir(), "log");
  process.env["SEALIFT_API_KEY"] = "a secret";
  t.teardown(() => delete process.env["SEALIFT_API_KEY"]);
  const environment: NodeJS.ProcessEnv = {
    NOTIFY_SOCKET: "/nowhere",
    WATCHDOG_USEC: "1000000000",
    WATCHDOG_PID: String(process.pid),
    SEALIFT_HUB_URL: "https://hub.example",
    PATH: fakeProgram(t, `env > '${log}.new'; mv '${log}.new' '${log}'`),
  };
  using notifier = systemdNotifier({ environment, warn: (message) => t.fail(message) });
  t.same(Object.keys(environment), ["SEALIFT_HUB_URL", "PATH"], "children do not inherit the protocol");
  notifier.ready();
  await until(() => existsSync(log));
  const names = readFileSync(log, "utf8").match(/^\w+(?==)/gm) ?? [];
  // The shell sets some others, and tap's own hooks.
  const foreign = /^(PWD|OLDPWD|SHLVL|_|NODE_OPTIONS|_TAPJS_.*)$/;
  t.same(names.filter((name) => !foreign.test(name)).sort(), ["NOTIFY_SOCKET", "PATH"]);
});

t.test("without NOTIFY_SOCKET nothing is started, and a reload is only its work", async (t) => {
  const log = join(t.testdir(), "log");
  const notifier = notifierFor(t, { PATH: fakeProgram(t, `touch '${log}'`), WATCHDOG_USEC: "30000" });
  notifier.ready("x");
  notifier.status("y");
  t.equal(await notifier.reload(async () => 1), 1);
  notifier.stopping();
  await sleep(500);
  t.notOk(existsSync(log));
});
