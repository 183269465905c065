// Only in test:all: it starts many sandboxes, 4 s of a processor.
import { getPriority } from "node:os";
import t from "tap";
import { allRefused, inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

inEachSetting("a sandboxed plugin changes neither its user nor anyone's priority", async (t, setting) => {
  const host = await startAttacker(t, { setting });
  const { pid } = (await host.status("victim")) as { pid: number };
  const before = getPriority(pid);
  await allRefused(
    t,
    host,
    {
      setuid: `return process.setuid(0)`,
      seteuid: `return process.seteuid(0)`,
      setgid: `return process.setgid(0)`,
      setegid: `return process.setegid(0)`,
      setgroups: `return process.setgroups([0])`,
      initgroups: `return process.initgroups("root", 0)`,
      "own priority": `return (await load("node:os")).setPriority(10)`,
      "a sibling's priority": `return (await load("node:os")).setPriority(parameters.pid, 10)`,
      "through getBuiltinModule": `return process.getBuiltinModule("os").setPriority(parameters.pid, 10)`,
      "through the default export": `return (await load("os")).default.setPriority(parameters.pid, 10)`,
    },
    { pid },
    // Its own priority changes nobody else's share for the better.
    setting === "wall" ? ["own priority"] : [],
  );
  t.equal(getPriority(pid), before);
});

t.test(
  "a runtime that was started as root runs its sandboxes as another user",
  { skip: process.getuid?.() !== 0 && "needs root" },
  async (t) => {
    const host = await startAttacker(t);
    t.match(await host.attack(`return [process.getuid(), process.geteuid(), process.getgid(), process.getgroups()]`), {
      done: [65534, 65534, 65534],
    });
    const configured = await startAttacker(t, { configuration: { plugins: { sandbox: { uid: 4242, gid: 4343 } } } });
    t.match(await configured.attack(`return [process.getuid(), process.getgid()]`), { done: [4242, 4343] });
    t.match(await configured.attack(`(await load("node:fs")).writeFileSync(context.dataDir + "/x", "x")`), {
      done: null,
    });
  },
);

t.test(
  "a release that the sandbox's user cannot read is an error that says so",
  { skip: process.getuid?.() !== 0 && "needs root" },
  async (t) => {
    const { chmodSync } = await import("node:fs");
    const host = await startAttacker(t);
    chmodSync(host.path("plugins/evil/src/main.mjs"), 0o600);
    const refused = { status: 500, body: { code: "sandbox_unavailable", msg: /65534 may not read/ } };
    t.match(await host.reload("evil"), refused);
    chmodSync(host.path("plugins/evil/src/main.mjs"), 0o644);
    chmodSync(host.path("plugins"), 0o700);
    t.match(await host.reload("evil"), refused, "nor one in a folder that it cannot enter");
  },
);
