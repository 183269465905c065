import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { findWall } from "../../../../lib/runtime/walls/find-wall.ts";
import { LastWords } from "../../../../lib/runtime/walls/last-words.ts";
import { systemdRun } from "../../../../lib/runtime/walls/systemd-run.ts";
import { actions, isAlive, sandboxed, startHost, until } from "../../../support/runtime/host.ts";
import { usePath } from "../../../support/runtime/path.ts";

// Where systemd is not the first process, no unit can be started: a program of the test's own takes systemd-run's
// arguments, notes them down, and starts the process in a session of its own, which holds nothing. What the properties
// stop is systemd's matter and not shown here.

const BOX = actions(`
  echo: (payload) => payload,
  loop: () => { for (;;); },
  leave: () => { process.stderr.write("Finished with result: oom-kill\\nlast words\\nleft open"); process.exit(3); },
  abort: () => process.abort(),
  own: () => [process.pid, process.getuid()],
`);
const skip = process.platform === "linux" && process.getuid?.() === 0 ? false : "needs root on Linux";

/** Returns the folder of a `systemd-run`, and the arguments of the last unit that it was to start. */
function standIn(t: Test, behaviour = ""): { folder: string; asked: () => string[] } {
  const folder = mkdtempSync(join(tmpdir(), "systemd-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const script = `#!/bin/sh
    PATH=/usr/bin:/bin
    [ "$1" = --version ] && { echo "systemd 999 (999.1-1)"; exit 0; }
    ${behaviour}
    : > ${folder}/asked
    while [ "$1" != -- ]; do
      echo "$1" >> ${folder}/asked
      case "$1" in --uid=*) user="--reuid=\${1#--uid=}";; --gid=*) group="--regid=\${1#--gid=}";; esac
      shift
    done
    shift
    echo "Running as unit: box.service" >&2
    exec 3<&0
    setsid setpriv $user $group --clear-groups "$@" <&3 3<&- &
    exec 3<&-
    wait $!
    status=$?
    # The words and exit codes of start_transient_service() in systemd's src/run/run.c.
    if [ $status -le 128 ]; then
      echo "Finished with result: exit-code" >&2
      echo "Main processes terminated with: code=exited/status=$status" >&2
      exit $status
    fi
    echo "Finished with result: signal" >&2
    echo "Main processes terminated with: code=killed/status=$(kill -l $status)" >&2
    echo "Service runtime: 1.234s" >&2
    exit 255`;
  writeFileSync(join(folder, "systemd-run"), script, { mode: 0o755 });
  return { folder, asked: () => readFileSync(join(folder, "asked"), "utf8").trim().split("\n") };
}

t.test("where systemd starts units for the runtime, each sandbox is one", { skip }, async (t) => {
  const { folder, asked } = standIn(t);
  usePath(t, folder);
  const host = await startHost(t, {
    plugins: { box: sandboxed("box", BOX, { resources: { max_memory_mb: 200, cpu_percent: 30, timeout_seconds: 3 } }) },
    configuration: {
      plugins: { sandbox: { wall: "required", grace_ms: 50, io_mb_per_second: 20, backoff_ms: 10, max_restarts: 9 } },
    },
  });
  t.match(host.logs[0]?.msg, /user 65534 and systemd-run 999: a transient unit, .*bounds of memory, processor/);
  const { held_by, pid } = (await host.status("box")) as { held_by: string[]; pid: number };
  t.equal(held_by.at(-1), "systemd-run 999");
  t.same(await host.result("box", "own"), [pid, 65534], "the process that status names is the plugin's");

  const properties = new Set(asked());
  const release = host.path("plugins/box");
  for (const expected of [
    "--pipe",
    "--wait",
    "--collect",
    "--service-type=exec",
    "--uid=65534",
    "--gid=65534",
    "--property=TemporaryFileSystem=/:ro",
    "--property=NoNewPrivileges=yes",
    "--property=CapabilityBoundingSet=",
    "--property=RestrictNamespaces=yes",
    "--property=PrivateNetwork=yes",
    "--property=IPAddressDeny=any",
    "--property=MemoryMax=200M",
    "--property=CPUQuota=30%",
    "--property=TasksMax=128",
    // A checkout below /tmp gets none.
    ...(import.meta.dirname.startsWith("/tmp/") ? [] : ["--property=TemporaryFileSystem=/tmp:mode=1777,size=16M"]),
    `--property=IOWriteBandwidthMax="${host.path("plugins/box/data")}" 20M`,
    `--property=WorkingDirectory=${release}`,
    `--property=BindReadOnlyPaths="${release}":"${release}"`,
    `--property=BindPaths="${release}/data":"${release}/data"`,
  ])
    t.ok(properties.has(expected), expected);
  const bound = [...properties].filter((property) => /=Bind\w*Paths=/.test(property)).join("\n");
  t.notMatch(bound, /"\/(etc|usr|proc|sys|tmp|root|home)?"/, "no folder of the host is there");

  // It is no child of the runtime and has a session of its own: it ends all the same.
  t.match(await host.call("box", "loop"), { status: 500, body: { code: "timed_out" } });
  await until(() => !isAlive(pid));
  const serves = () => until(async () => (await host.call("box", "echo", 1)).status === 200, 60_000);
  await serves();

  // Its exit code is 255 after every signal: systemd-run's words tell which.
  t.match(await host.call("box", "abort"), { status: 500, body: { code: "memory_exceeded" } });
  await serves();
  t.match(
    await host.call("box", "leave"),
    { status: 500, body: { code: "plugin_crashed" } },
    "whatever it says itself",
  );
  await serves();
  const lines = host.logs.map(({ msg }) => msg).join("\n");
  t.match(lines, /^Finished with result: oom-kill\nlast words\nleft open$/m, "all that it wrote is in the log");
  t.notMatch(lines, /Running as unit|Service runtime|Main processes/, "and they are not the plugin's");
  const next = ((await host.status("box")) as { pid: number }).pid;
  t.not(next, pid);
  await host.runtime.close();
  await until(() => !isAlive(next));
});

t.test("a systemd that is not there is quoted, and a path that no unit can name is refused", { skip }, async (t) => {
  const { folder } = standIn(t, `echo "System has not been booted with systemd as init system (PID 1)." >&2; exit 1`);
  t.match(await findWall(undefined, folder), { reason: /systemd-run cannot build it: System has not been booted/ });
  const limits = { memoryMb: 64, cpuPercent: 100, diskMb: 1, scratchMb: 0 };
  const view = { reads: [], writes: [], cwd: "/", network: "none", user: undefined, limits } as const;
  const wall = systemdRun({ file: "/usr/bin/systemd-run", version: "252" });
  const program = { file: process.execPath, arguments: [] };
  t.throws(() => wall.enclose(program, { ...view, writes: ['/srv/a" /etc:"'] }), { code: "sandbox_unavailable" });
  const named = wall.enclose(program, { ...view, network: { socket: "/run/x y/socket" } }).arguments;
  const { readOwn } = wall.enclose(program, view);
  const heard = (...said: string[]) => {
    const lines: string[] = [];
    const words = new LastWords(readOwn!, (line) => lines.push(line));
    for (const line of said) words.take(line);
    return [words.end(), ...lines];
  };
  const start = "Running as unit: box.service";
  const peak = "Memory peak: 1.5G (swap: 0B)";
  const killed = "Main processes terminated with: code=killed/status=KILL";
  const aborted = "Main processes terminated with: code=dumped, status=6/ABRT";
  const ended = "Main processes terminated with: code=exited, status=0/SUCCESS";
  t.same(heard(start, "a", "Finished with result: oom-kill", killed, peak), ["out of memory", "a"]);
  t.same(heard(start, "left openFinished with result: signal", aborted), [{ signal: "SIGABRT" }, "left open"]);
  t.same(heard("Finished with result: success", ended), ["unknown"]);
  t.same(heard("a", start, peak, "b", ended), [undefined, "a", start, peak, "b"], "the plugin says the same");
  t.same(heard(peak, `xFinished with result: success`), ["unknown", peak, "x"]);
  t.same(heard(...Array.from({ length: 20 }, () => peak)).length, 1 + 4, "no more is held than systemd-run writes");
  t.ok(named.includes('--property=BindPaths="/run/x y/socket":"/run/sealift/network"'));
  t.ok(named.includes("--property=PrivateNetwork=yes"));
  t.notOk(wall.enclose(program, { ...view, network: "all" }).arguments.includes("--property=PrivateNetwork=yes"));
});
