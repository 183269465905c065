import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";
import { isAlive } from "../../support/runtime/host.ts";

inEachSetting("a sandboxed plugin signals and debugs neither the runtime nor a sibling", async (t, setting) => {
  const host = await startAttacker(t, { setting });
  const { pid } = (await host.status("victim")) as { pid: number };
  let signals = 0;
  const count = (): void => void signals++;
  process.on("SIGUSR2", count);
  t.teardown(() => process.off("SIGUSR2", count));
  const attacks: Record<string, string> = {};
  const harmless = ["_kill parameters.pid", "_kill -parameters.pid", "_kill -1", "through a handle", "_debugEnd"];
  for (const target of ["parameters.pid", "process.ppid", "-parameters.pid", "0", "-1"]) {
    attacks[`kill ${target}`] = `return process.kill(${target}, "SIGUSR2")`;
    attacks[`_kill ${target}`] = `return process._kill(${target}, 12)`;
    attacks[`_debugProcess ${target}`] = `return process._debugProcess(${target})`;
    if (["process.ppid", "0"].includes(target)) {
      harmless.push(`kill ${target}`, `_kill ${target}`, `_debugProcess ${target}`);
    }
  }
  await allRefused(
    t,
    host,
    {
      ...attacks,
      "through getBuiltinModule": `return process.getBuiltinModule("process").kill(parameters.pid, 12)`,
      "through import": `return (await load("node:process")).kill(parameters.pid, 12)`,
      "through the prototype": `return Object.getPrototypeOf(process).kill.call(process, parameters.pid, 12)`,
      "through the constructor": `return new process.constructor().kill(parameters.pid, 12)`,
      "put back": `delete process.kill; return process.kill(parameters.pid, 12)`,
      "through a handle": `const { ChildProcess } = await load("node:child_process"); const child = new ChildProcess(); child._handle.pid = parameters.pid; return child._handle.kill(12)`,
      _debugEnd: `return process._debugEnd()`,
    },
    { pid },
    // What signals 0 are the process itself and the wall around it; the others only return a number that says "no such
    // process".
    setting === "wall" ? harmless : [],
  );
  t.ok(isAlive(pid));
  t.equal((await host.status("victim")).pid, pid);
  t.equal(signals, 0);
  const { stderr } = process;
  t.ok(stderr, "the runtime goes on");
  // SIGUSR1 would open the inspector of a sandbox; the flag must be there for those that anyone else sends.
  process.kill(pid, "SIGUSR1");
  await new Promise((resolve) => setTimeout(resolve, 300));
  t.notOk(host.logs.some(({ msg }) => /Debugger listening/.test(msg)));
});
