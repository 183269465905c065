import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import t from "tap";
import { needs } from "../../support/programs/optional.ts";
import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

/** Parts of the host that a sandbox could see or speak to: other processes, devices, kernel tables, sockets. */

/** The sandboxes of a checkout below /tmp see the way to their own files there, and have no /tmp of their own. */
const IS_BELOW_TMP = import.meta.dirname.startsWith("/tmp/");

inEachSetting(
  "a sandbox finds neither the runtime's /proc, nor /sys, devices, programs or the host's users",
  async (t, setting) => {
    const host = await startAttacker(t, { setting });
    const read = (path: string) => `return (await load("node:fs")).readFileSync(${path}, "utf8").length`;
    const open = (path: string, flags: string) => `return (await load("node:fs")).openSync("${path}", "${flags}")`;
    await allRefused(
      t,
      host,
      {
        "the runtime's environment": read(`"/proc/" + parameters.pid + "/environ"`),
        "the runtime's command line": read(`"/proc/" + parameters.pid + "/cmdline"`),
        "the runtime's status": read(`"/proc/" + parameters.pid + "/status"`),
        "the runtime's root folder": `return (await load("node:fs")).readdirSync("/proc/" + parameters.pid + "/root")`,
        "the runtime's descriptors": `return (await load("node:fs")).readdirSync("/proc/" + parameters.pid + "/fd")`,
        "a sibling's memory": `return (await load("node:fs")).openSync("/proc/" + parameters.sibling + "/mem")`,
        "the host's init": read(`"/proc/1/root/etc/passwd"`),
        "core dumps by a pipe": `return (await load("node:fs")).writeFileSync("/proc/sys/kernel/core_pattern", "|/bin/sh")`,
        "its namespaces' limits": `return (await load("node:fs")).writeFileSync("/proc/sys/user/max_user_namespaces", "9")`,
        sysrq: `return (await load("node:fs")).writeFileSync("/proc/sysrq-trigger", "h")`,
        "its own id map": `return (await load("node:fs")).writeFileSync("/proc/self/uid_map", "0 0 1")`,
        "its own memory": `return (await load("node:fs")).writeFileSync("/proc/1/oom_score_adj", "-1000")`,
        "kernel tables": `return (await load("node:fs")).readdirSync("/sys")`,
        cgroups: `return (await load("node:fs")).readdirSync("/sys/fs/cgroup")`,
        "a disk": open("/dev/vda", "r"),
        "memory as a device": open("/dev/mem", "r"),
        "kernel messages": open("/dev/kmsg", "r"),
        "a new terminal": open("/dev/ptmx", "r+"),
        "the terminal": open("/dev/tty", "r+"),
        "shared memory": open("/dev/shm/x", "w"),
        fuse: open("/dev/fuse", "r+"),
        "a setuid program": `return (await load("node:fs")).statSync("/usr/bin/su").mode`,
        "a shell": `return (await load("node:fs")).statSync("/bin/sh").mode`,
        users: read(`"/etc/passwd"`),
        "the machine's id": read(`"/etc/machine-id"`),
        ...(!IS_BELOW_TMP && {
          "temporary files of others": `return (await load("node:fs")).readdirSync("/tmp").length || (() => { throw new Error("empty") })()`,
        }),
        "a file in the root": `return (await load("node:fs")).writeFileSync("/x", "x")`,
      },
      { pid: process.pid, sibling: ((await host.status("victim")) as { pid: number }).pid },
    );
  },
);

inEachSetting("a sandbox that was granted the network opens no socket of the host", async (t, setting) => {
  const reached: string[] = [];
  const servers = { abstract: "\0sealift-attack", file: join(mkdtempSync(join(tmpdir(), "s")), "s") };
  t.teardown(() => rmSync(dirname(servers.file), { recursive: true }));
  for (const [name, path] of Object.entries(servers)) {
    const server = createServer((socket) => {
      reached.push(name);
      socket.end();
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    t.teardown(() => server.close());
  }
  const host = await startAttacker(t, {
    setting,
    descriptor: { network: true },
    configuration: { plugins: { grants: { evil: { network: true } } } },
  });
  const connect = (path: string) =>
    `const { connect } = await load("node:net"); return await new Promise((done, fail) => connect(${path}).on("connect", () => done(1)).on("error", fail))`;
  const attacks = {
    "an abstract socket": connect(`"\\0sealift-attack"`),
    "a socket in the file system": connect("parameters.socket"),
    "D-Bus": connect(`"/run/dbus/system_bus_socket"`),
    systemd: connect(`"/run/systemd/private"`),
    "a container engine": connect(`"/run/docker.sock"`),
  };
  if (setting !== "model") await allRefused(t, host, attacks, { socket: servers.file });
  await pause(50);
  if (setting === "model") t.pass("Node's model grants every socket with the network: see docs/sandbox.md");
  else t.same(reached, []);
});

inEachSetting("a sandbox's /tmp is its own and has a size, or it has none", async (t, setting) => {
  const host = await startAttacker(t, { setting, configuration: { plugins: { sandbox: { scratch_mb: 2 } } } });
  const name = `sealift-scratch-${process.pid}`;
  const write = (bytes: number) =>
    host.attack(`return (await load("node:fs")).writeFileSync("/tmp/${name}", Buffer.alloc(${bytes}))`);
  const withoutRoom = setting !== "wall" ? "ERR_ACCESS_DENIED" : "EROFS";
  const hasNone = setting === "model" || IS_BELOW_TMP;
  t.match(await write(1e6), hasNone ? { refused: withoutRoom } : { done: null });
  t.match(await write(3e6), { refused: hasNone ? withoutRoom : "ENOSPC" });
  t.notOk(existsSync(join("/tmp", name)), "the host has no such file");
  const sibling = await host.attack(`return (await load("node:fs")).readFileSync("/tmp/${name}").length`, {}, "victim");
  t.match(sibling, {
    refused: setting === "model" || (IS_BELOW_TMP && setting === "both") ? "ERR_ACCESS_DENIED" : "ENOENT",
  });
});

t.test("a sandbox leaves no core dump", async (t) => {
  const host = await startAttacker(t, { setting: needs("bwrap") === false ? "both" : "model" });
  const { pid } = (await host.status("evil")) as { pid: number };
  t.match(readFileSync(`/proc/${pid}/limits`, "latin1"), /Max core file size +0 +0 /);
});
