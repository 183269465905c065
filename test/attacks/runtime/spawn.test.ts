import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

inEachSetting("a sandboxed plugin starts no process, thread, native code or inspector", async (t, setting) => {
  const host = await startAttacker(t, { setting });
  // Threads, bindings and WASI stay inside of the process, the inspector finds no network, and the failed spawns return
  // a number.
  const own = [
    "worker",
    "binding",
    "spawnBinding",
    "wasi",
    "inspector",
    "inspector session",
    "a ChildProcess of its own",
  ];
  const attacks = {
    execFileSync: `return (await load("node:child_process")).execFileSync("/bin/sh", ["-c", "id"]).toString()`,
    spawn: `const { spawn } = await load("node:child_process"); return await new Promise((done, fail) => spawn("/bin/true").on("exit", done).on("error", fail))`,
    fork: `return (await load("node:child_process")).fork("/tmp/x.js").pid`,
    "a ChildProcess of its own": `const { ChildProcess } = await load("node:child_process"); return new ChildProcess().spawn({ file: "/bin/true", args: [], envPairs: [] })`,
    cluster: `return (await load("node:cluster")).default.fork().id`,
    worker: `const { Worker } = await load("node:worker_threads"); return new Worker("1", { eval: true }).threadId`,
    execve: `return process.execve("/bin/true", ["true"], {})`,
    dlopen: `return process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6")`,
    linkedBinding: `return process._linkedBinding("process_wrap")`,
    binding: `return process.binding("process_wrap")`,
    spawnBinding: `return process.binding("spawn_sync").spawn({ file: "/bin/true", args: ["true"], stdio: [] })`,
    wasi: `const { WASI } = await load("node:wasi"); return new WASI({ version: "preview1", preopens: { "/": "/" } }) && 1`,
    inspector: `const inspector = await load("node:inspector"); inspector.open(0); return inspector.url()`,
    "inspector session": `const { Session } = await load("node:inspector"); new Session().connect(); return 1`,
  };
  await allRefused(t, host, attacks, {}, setting === "wall" ? own : []);
  if (setting === "wall") {
    const started = await host.attack(
      `const { spawnSync } = process.getBuiltinModule("child_process"); const { error, status } = spawnSync(process.execPath, ["--version"]); return [error?.code, status]`,
    );
    t.same(started, { done: ["EPERM", null] });
  }
  t.match(await host.attack(`return 1`), { done: 1 });
});
