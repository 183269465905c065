import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import t from "tap";
import { spawnEnclosed } from "../../../../lib/runtime/walls/spawn.ts";
import {
  ControlGroup,
  ControlGroups,
  type Controller,
  diskOf,
  startOf,
} from "../../../../lib/support/control-groups/control-group.ts";
import { examineGroups, findGroups } from "../../../../lib/support/control-groups/find-groups.ts";
import { groupPlace } from "../../../../lib/support/control-groups/own-group.ts";
import { GroupTree } from "../../../support/runtime/group-tree.ts";
import { actions, isAlive, sandboxed, startHost } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

// Bounds are driven against a folder tree of the shape of cgroup v2 (GroupTree). Only the last test needs the kernel's.

const BOX = actions(
  `echo: (payload) => payload, wait: (_, { logger }) => { logger.info("waiting"); return new Promise(() => {}); }`,
);
const silent = pino({ level: "silent" });
const onLinux = process.platform === "linux" ? false : "control groups are Linux's";

t.test("each sandbox has a group with its bounds, which goes with it", { skip: onLinux }, async (t) => {
  const tree = new GroupTree(t);
  const host = await startHost(t, {
    plugins: {
      one: sandboxed("one", BOX, { resources: { max_memory_mb: 200, cpu_percent: 30 } }),
      two: sandboxed("two", BOX, { resources: { cpu_percent: 800 } }),
    },
    configuration: { plugins: { sandbox: { cpu_percent: 150, backoff_ms: 1 } } },
    controlGroup: tree.folder,
  });
  t.equal(tree.read("cgroup.subtree_control"), "+memory +cpu +pids");
  t.equal(tree.read("sealift-runtime", "cgroup.procs"), String(process.pid), "the runtime has left the group itself");
  // Plugins start side by side: either may have the first group. That this one is of `one`, its end shows below.
  t.equal(tree.sandboxes.length, 2);
  const bounded = (name: string): boolean => tree.read(name, "memory.max") === String(200 * 1024 * 1024);
  const [one = "", two = ""] = tree.sandboxes.sort((a, b) => Number(bounded(b)) - Number(bounded(a)));
  t.ok(bounded(one));
  t.equal(tree.read(one, "memory.oom.group"), "1");
  t.equal(tree.read(one, "cpu.max"), "30000 100000");
  t.equal(tree.read(two, "cpu.max"), "150000 100000", "the operator's limit counts for every plugin");
  t.equal(tree.read(one, "pids.max"), "128");
  const { held_by } = (await host.status("one")) as { held_by: string[] };
  t.equal(held_by.at(-1), "cgroup (memory, processor, processes)");
  t.match((await host.system("GET", "/plugin/ipc/health")).body, {
    checks: {
      sandbox: {
        message: /a control group bounds the memory, processor, processes of each; data\/ is measured every 250 ms/,
      },
    },
  });
  t.ok(host.logs.some(({ msg }) => msg.includes("a control group bounds the memory")));

  // The kernel ends a group whose memory is full: the caller is told why.
  const leader = Number(tree.read(one, "cgroup.procs"));
  t.ok(isAlive(leader));
  const call = host.call("one", "wait");
  await until(() => host.logs.some(({ msg }) => msg === "waiting"));
  writeFileSync(join(tree.folder, one, "memory.events"), "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 1\n");
  process.kill(-leader, "SIGKILL");
  t.match(await call, { status: 500, body: { code: "memory_exceeded", msg: /more than 200 MB/ } });
  t.equal(await host.result("one", "echo", 1), 1, "and it is back");
  await until(() => !tree.sandboxes.includes(one));
  t.equal(tree.sandboxes.length, 2, "with another group");
  await host.runtime.close();
  t.same(tree.sandboxes, [], "no group outlives the runtime");
});

t.test("the traffic with the disk of data/ is bounded where the operator says so", { skip: onLinux }, async (t) => {
  const tree = new GroupTree(t);
  const host = await startHost(t, {
    plugins: { one: sandboxed("one", BOX) },
    configuration: { plugins: { sandbox: { io_mb_per_second: 20 } } },
    controlGroup: tree.folder,
  });
  t.equal(tree.read("cgroup.subtree_control"), "+memory +cpu +pids +io");
  const device = diskOf(host.path("plugins/one/data"));
  const status = (await host.status("one")) as { state: string; error?: string; held_by?: string[] };
  if (device === undefined) {
    t.match(status, { state: "error", error: /cannot bound the traffic with the file system of/ });
  } else {
    t.equal(
      tree.read(tree.sandboxes[0] ?? "", "io.max"),
      `${device} rbps=${20 * 1024 * 1024} wbps=${20 * 1024 * 1024}`,
    );
    t.equal(status.held_by?.at(-1), "cgroup (memory, processor, processes, disk throughput)");
  }
  const without = new GroupTree(t, { controllers: "cpu memory pids" });
  const other = await startHost(t, {
    plugins: {},
    configuration: { plugins: { sandbox: { io_mb_per_second: 20 } } },
    controlGroup: without.folder,
  });
  t.ok(other.logs.some(({ msg }) => msg.includes("io_mb_per_second does not hold here")));
});

t.test("a partition is bounded as its whole disk, and a file system without a disk not at all", (t) => {
  const folder = t.testdir({ dev: {}, vda: { dev: "8:0\n", vda1: { dev: "8:1\n", partition: "1\n" } } });
  const { dev } = statSync(folder);
  const name = `${((dev >> 8) & 0xfff) >>> 0}:${((dev & 0xff) | ((dev >> 12) & ~0xff)) >>> 0}`;
  t.equal(diskOf(folder, join(folder, "dev")), undefined);
  symlinkSync(join(folder, "vda/vda1"), join(folder, "dev", name));
  t.equal(diskOf(folder, join(folder, "dev")), "8:0");
  t.end();
});

t.test("groups that a killed runtime left are emptied and removed at the next start", { skip: onLinux }, async (t) => {
  const tree = new GroupTree(t);
  const left = spawn("/bin/sleep", ["60"], { stdio: "ignore" });
  const others = spawn("/bin/sleep", ["60"], { stdio: "ignore" });
  t.teardown(() => others.kill());
  const ended = once(left, "exit");
  // Its number belongs to a process that started at another time.
  tree.group(`sealift-${process.ppid}-1-7`, left.pid ?? 0);
  const alive = `sealift-${process.ppid}-${startOf(process.ppid)}-8`;
  tree.group(alive, others.pid ?? 0);
  t.match(await findGroups(silent, tree.folder), { groups: ControlGroups });
  t.same(await ended, [null, "SIGKILL"]);
  t.same(tree.sandboxes, [alive], "a runtime that lives keeps its own");
  t.ok(isAlive(others.pid ?? 0));
});

t.test("a runtime that may make no groups says why", { skip: onLinux }, async (t) => {
  const reason = async (tree: GroupTree): Promise<string> => {
    const found = await findGroups(silent, tree.folder);
    return found.groups ? "groups" : found.reason;
  };
  t.match(await reason(new GroupTree(t, { controllers: "hugetlb rdma" })), /none of the controllers memory, cpu/);
  const shared = new GroupTree(t, { processes: [process.pid, process.ppid] });
  t.match(await reason(shared), /other processes are in its control group; .*Delegate=yes/);
  t.notOk(existsSync(join(shared.folder, "sealift-runtime")), "it has changed nothing");
  t.match(await findGroups(silent, "/proc/self/task"), { groups: undefined, reason: /ENOENT/ });
  t.match(await findGroups(silent, t.testdir({})), { groups: undefined });
  const prepared = new GroupTree(t);
  await findGroups(silent, prepared.folder);
  t.match(await findGroups(silent, join(prepared.folder, "sealift-runtime")), { groups: ControlGroups });
  const host = await startHost(t, { plugins: {} });
  t.match((await host.system("GET", "/plugin/ipc/health")).body, {
    checks: {
      sandbox: { message: /no control groups: this process is not a runtime alone; data\/ is measured every 250 ms/ },
    },
  });
});

t.test("a process that its group does not take never runs", { skip: onLinux }, async (t) => {
  const file = join(t.testdir({}), "ran");
  const program = { file: "/bin/sh", arguments: ["-c", `read -r line || exit 125; echo > ${file}`] };
  const nowhere = new ControlGroup("/nowhere", () => undefined);
  t.throws(() => spawnEnclosed(program, { cwd: "/", user: undefined, group: nowhere }), { code: "ENOENT" });
  const empty = new ControlGroup(t.testdir({}), () => undefined);
  const child = spawnEnclosed(program, { cwd: "/", user: undefined, group: empty });
  await once(child, "exit");
  t.ok(existsSync(file));
});

t.test("the kernel's tables name the group of a process", (t) => {
  const hybrid =
    "31 24 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
    "40 31 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
  t.equal(groupPlace("4:memory:/a\n0::/\n", hybrid).folder, "/sys/fs/cgroup/unified");
  const unified = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
  t.equal(groupPlace("0::/system.slice/a.service\n", unified).folder, "/sys/fs/cgroup/system.slice/a.service");
  const part = "30 24 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  t.equal(groupPlace("0::/docker/1/x\n", part).folder, "/sys/fs/cgroup/x");
  t.throws(() => groupPlace("0::/docker/2\n", part).folder, /mounted/);
  t.throws(() => groupPlace("4:memory:/a\n", hybrid).folder, /no cgroup v2/);
  t.end();
});

/** The path of a group of the kernel's own, where this machine lets the test make one. */
function kernelGroup(): string | undefined {
  try {
    const [memberships, mounts] = ["cgroup", "mountinfo"].map((name) => readFileSync(`/proc/self/${name}`, "latin1"));
    const own = groupPlace(memberships ?? "", mounts ?? "").folder;
    accessSync(join(own, "cgroup.procs"), constants.W_OK);
    return join(own, `sealift-test-${process.pid}`);
  } catch {
    return undefined;
  }
}

const kernel = onLinux ? undefined : kernelGroup();
t.test(
  "the kernel itself ends all of a group, whatever sessions its processes make",
  { skip: kernel === undefined && "no control group can be made here" },
  async (t) => {
    mkdirSync(kernel!);
    t.teardown(() => rmdirSync(kernel!));
    t.match(await examineGroups(), /bounds/);
    const there = readFileSync(join(kernel!, "cgroup.controllers"), "latin1").trim().split(" ");
    const controllers = (["memory", "cpu", "pids"] as const).filter((controller) => there.includes(controller));
    t.comment(`of the controllers, this kernel has ${controllers.join(", ") || "none: bounds are not exercised"}`);
    writeFileSync(join(kernel!, "cgroup.subtree_control"), controllers.map((name: Controller) => `+${name}`).join(" "));
    await using groups = new ControlGroups(kernel!, controllers, silent);
    const group = await groups.create({ memoryMb: 64, cpuPercent: 50, disk: "/" });
    const program = { file: "/bin/sh", arguments: ["-c", "read -r line; setsid sleep 60 & echo $!; sleep 60"] };
    const child = spawnEnclosed(program, { cwd: "/", user: undefined, group });
    const [line] = (await once(child.stdout!, "data")) as [Buffer];
    const escaped = Number(line);
    t.ok(isAlive(escaped));
    group.end();
    await once(child, "exit");
    await until(() => !isAlive(escaped));
    await groups[Symbol.asyncDispose]();
    t.same(
      readFileSync(join(kernel!, "cgroup.stat"), "latin1").match(/^nr_descendants (\d+)/)?.[1],
      "0",
      "and the group is gone",
    );
  },
);
