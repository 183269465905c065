import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

/**
 * Native code in a sandbox: what a hole in Node or V8 would give an attacker. Calls of the kernel are made by their
 * x86-64 number.
 */

const RAW = `
  const { dlopen } = await load("node:ffi");
  const i64 = "int64";
  const { functions } = dlopen("libc.so.6", { syscall: { arguments: [i64, i64, i64, i64, i64, i64, i64], return: i64 } });
  const call = (...parameters) => {
    const result = functions.syscall(...Array.from({ length: 7 }, (_, index) => BigInt(parameters[index] ?? 0)));
    if (result < 0n) throw Object.assign(new Error("the kernel refused it"), { code: "REFUSED" });
    return Number(result);
  };
`;
const CLONE_NEWUSER = 0x10000000;
const CLONE_NEWNS = 0x00020000;

const CALLS: Record<string, readonly (number | string)[]> = {
  "ptrace of the runtime": [101, 16, "parameters.pid"],
  "ptrace that asks for a tracer": [101, 0],
  process_vm_readv: [310, "parameters.pid", 0, 0, 0, 0, 0],
  "pidfd_open of itself": [434, 1, 0],
  "pidfd_open of the runtime": [434, "parameters.pid", 0],
  "a user namespace by unshare": [272, CLONE_NEWUSER],
  "a mount namespace by unshare": [272, CLONE_NEWNS],
  "a user namespace by clone": [56, CLONE_NEWUSER | 17],
  "a process by clone": [56, 17],
  "a process by clone3": [435, 0, 88],
  "a process by fork": [57],
  setns: [308, 0, 0],
  mount: [165, 0, 0, 0, 0, 0],
  umount2: [166, 0, 0],
  pivot_root: [155, 0, 0],
  chroot: [161, 0],
  open_tree: [428, -100, 0, 0],
  fsopen: [430, 0, 0],
  open_by_handle_at: [304, 0, 0, 0],
  io_uring_setup: [425, 8, "BigInt(parameters.zeros ?? 0)"],
  io_uring_enter: [426, 0, 0, 0, 0],
  bpf: [321, 0, 0, 0],
  perf_event_open: [298, 0, 0, -1, -1, 0],
  userfaultfd: [323, 1],
  "the session keyring": [250, 0, -3, 0],
  "a key of the user's keyring": [250, 6, -4, 0, 0],
  add_key: [248, 0, 0, 0, 0, -3],
  request_key: [249, 0, 0, 0, -3],
  init_module: [175, 0, 0, 0],
  kexec_load: [246, 0, 0, 0, 0],
  reboot: [169, 0xfee1dead, 672274793, 0],
  "the kernel's log": [103, 10, 0, 0],
  personality: [135, 0x0040000],
  "shared memory that no sampler sees": [29, 0, 1048576, 0o1600],
  "a message queue": [68, 0, 0o1600],
  quotactl: [179, 0, 0, 0, 0],
  settimeofday: [164, 0, 0],
  "a call of 32-bit x32": [0x40000000 + 39],
  "a call that is newer than the filter": [460],
};
const SOCKETS: Record<string, readonly [family: number, type: number, protocol: number]> = {
  "a unix socket": [1, 1, 0],
  "an IPv4 socket": [2, 1, 0],
  "an IPv6 socket": [10, 1, 0],
  "a raw socket": [2, 3, 1],
  "a packet socket": [17, 3, 768],
  "a socket to the hypervisor (vsock)": [40, 1, 0],
  "a socket of the kernel's cryptography": [38, 5, 0],
  "a bluetooth socket": [31, 3, 1],
};

inEachSetting("native code in a sandbox gets nothing from the kernel that a plugin needs not", async (t, setting) => {
  if (process.arch !== "x64") return void t.plan(0, "the numbers are those of x86-64");
  const host = await startAttacker(t, { setting });
  const code = (numbers: readonly (number | string)[]) => `${RAW} return call(${numbers.join(", ")})`;
  const attacks = Object.entries(CALLS).map(([name, numbers]) => [name, code(numbers)]);
  const sockets = Object.entries(SOCKETS).map(([name, numbers]) => [name, code([41, ...numbers])]);
  await allRefused(t, host, Object.fromEntries([...attacks, ...sockets]) as Record<string, string>, {
    pid: process.pid,
  });
  if (setting !== "wall") return;
  t.match(await host.attack(`${RAW} return call(39)`), { done: 1 }, "the calls themselves work: it is process 1");
  const status = await host.attack(`return (await load("node:fs")).readFileSync("/proc/self/status", "utf8")`);
  t.match(status, { done: /CapEff:\t0+\n/ });
  t.match(status, { done: /CapBnd:\t0+\n/ });
  t.match(status, { done: /NoNewPrivs:\t1\n/ });
  t.match(status, { done: /Seccomp:\t2\n/ });
});

inEachSetting("a sandbox makes no file that lends its maker's user or group", async (t, setting) => {
  const host = await startAttacker(t, { setting });
  const attacks = {
    chmodSync: `const fs = await load("node:fs"); fs.writeFileSync(context.dataDir + "/a", "x"); fs.chmodSync(context.dataDir + "/a", 0o4755)`,
    fchmodSync: `const fs = await load("node:fs"); fs.fchmodSync(fs.openSync(context.dataDir + "/b", "w"), 0o2755)`,
    open: `const fs = await load("node:fs"); fs.openSync(context.dataDir + "/c", "w", 0o4755)`,
    mkdir: `const fs = await load("node:fs"); fs.mkdirSync(context.dataDir + "/d", 0o2777)`,
  };
  for (const code of Object.values(attacks)) await host.attack(code);
  const modes = await host.attack(
    `const fs = await load("node:fs"); return fs.readdirSync(context.dataDir).map((name) => fs.statSync(context.dataDir + "/" + name).mode & 0o6000)`,
  );
  if (setting === "model")
    t.match(modes, { done: Array }, "Node's model has no say in modes; see the next two settings");
  else
    t.ok(
      (modes as { done: number[] }).done.every((mode) => mode === 0),
      JSON.stringify(modes),
    );
});
