import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { allRefused, startAttacker } from "../../support/runtime/attacker.ts";
import { isAlive } from "../../support/runtime/host.ts";
import { usePath } from "../../support/runtime/path.ts";
import { noSetpriv, setprivFolder } from "../../support/runtime/setpriv.ts";

/**
 * A sandbox that Landlock alone holds, without Node's permission model. The rules are the kernel's own. Where setpriv
 * is too old to ask for them, a program of the test's own does.
 */

const RAW = `
  const { dlopen } = await load("node:ffi");
  const i64 = "int64";
  const { functions } = dlopen("libc.so.6", { syscall: { arguments: [i64, i64, i64, i64, i64], return: i64 } });
  const call = (...parameters) => {
    const result = functions.syscall(...Array.from({ length: 5 }, (_, index) => BigInt(parameters[index] ?? 0)));
    if (result < 0n) throw Object.assign(new Error("the kernel refused it"), { code: "REFUSED" });
    return Number(result);
  };
`;
const fs = (code: string): string => `const fs = await load("node:fs"); ${code}`;
const connect = (to: string): string =>
  `const { connect } = await load("node:net"); return await new Promise((done, fail) => connect(${to}).on("connect", () => done(1)).on("error", fail))`;

t.test("what Landlock alone holds gets no further than its folder", { skip: noSetpriv }, async (t) => {
  usePath(t, setprivFolder(t));
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const folder = mkdtempSync(join(tmpdir(), "s"));
  const local = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => local.listen(join(folder, "s"), resolve));
  t.teardown(() => {
    server.close();
    local.close();
    rmSync(folder, { recursive: true });
  });
  const host = await startAttacker(t, {
    setting: "wall",
    files: { secret: "secret" },
    descriptor: { network: true },
    configuration: { plugins: { grants: { evil: { network: true } } } },
  });
  const { pid, held_by } = (await host.status("victim")) as { pid: number; held_by: string[] };
  t.match(held_by.at(-1), /^landlock \(setpriv \d/);
  // Whatever the sandboxes' user may do with its own files, which a sibling's are.
  await host.attack(fs(`fs.writeFileSync(context.dataDir + "/own", "untouched")`), {}, "victim");
  const sibling = host.path("plugins/victim/data/own");
  const before = { mode: statSync(sibling).mode, dates: statSync(sibling).mtimeMs, priority: getPriority(pid) };
  const { port } = server.address() as AddressInfo;
  const parameters = {
    ...{ pid, own: process.pid, sibling, port, secret: host.path("secret"), socket: join(folder, "s") },
    program: host.path("plugins/evil/src/main.mjs"),
  };
  await allRefused(
    t,
    host,
    {
      "a secret": fs(`return fs.readFileSync(parameters.secret, "utf8")`),
      "a sibling's data": fs(`return fs.readFileSync(parameters.sibling, "utf8")`),
      users: fs(`return fs.readFileSync("/etc/passwd", "utf8")`),
      "the root folder": fs(`return fs.readdirSync("/")`),
      "temporary files of others": fs(`return fs.readdirSync("/tmp")`),
      "a temporary file": fs(`return fs.writeFileSync("/tmp/x", "x")`),
      "the runtime's environment": fs(`return fs.readFileSync("/proc/" + parameters.own + "/environ")`),
      "a sibling's environment": fs(`return fs.readFileSync("/proc/" + parameters.pid + "/environ")`),
      "a sibling's memory": fs(`return fs.openSync("/proc/" + parameters.pid + "/mem", "r+")`),
      "a sibling's descriptors": fs(`return fs.readdirSync("/proc/" + parameters.pid + "/fd")`),
      "kernel tables": fs(`return fs.readdirSync("/sys")`),
      "a disk": fs(`return fs.openSync("/dev/vda", "r")`),
      "a new terminal": fs(`return fs.openSync("/dev/ptmx", "r+")`),
      "shared memory": fs(`return fs.openSync("/dev/shm/x", "w")`),
      "its own code": fs(`return fs.writeFileSync(parameters.program, "x")`),
      "a sibling's file": fs(`return fs.writeFileSync(parameters.sibling, "x")`),
      "a sibling's file cut": fs(`return fs.truncateSync(parameters.sibling)`),
      "a sibling's file moved": fs(`return fs.renameSync(parameters.sibling, context.dataDir + "/x")`),
      "a sibling's file linked": fs(`return fs.linkSync(parameters.sibling, context.dataDir + "/x")`),
      "a sibling's file removed": fs(`return fs.rmSync(parameters.sibling)`),
      "a sibling's mode": fs(`return fs.chmodSync(parameters.sibling, 0)`),
      "a sibling's owner": fs(`return fs.chownSync(parameters.sibling, process.getuid(), process.getgid())`),
      "a sibling's dates": fs(`return fs.utimesSync(parameters.sibling, 1, 1)`),
      "a watch over a sibling": fs(`return fs.watch(parameters.sibling) && 1`),
      "a link in its data": fs(`return fs.symlinkSync("/etc", context.dataDir + "/x")`),
      "a file that lends its user": fs(`return fs.openSync(context.dataDir + "/x", "w", 0o4755)`),
      "a program": `const { execFileSync } = process.getBuiltinModule("child_process"); return execFileSync("/bin/sh", ["-c", "id"]).toString()`,
      "itself once more": `const { error } = process.getBuiltinModule("child_process").spawnSync(process.execPath, ["--version"]); if (error) throw error; return 1`,
      "a program in its place": `return process.execve("/bin/sh", ["sh", "-c", "id"], {})`,
      "a signal to a sibling": `return process.kill(parameters.pid, "SIGUSR2")`,
      "a signal to all": `return process.kill(-1, "SIGUSR2")`,
      "a thread signal": `${RAW} return call(234, parameters.pid, parameters.pid, 12)`,
      "a sibling's limits": `${RAW} return call(302, parameters.pid, 7, 0, 0)`,
      "a sibling's priority": `return process.getBuiltinModule("os").setPriority(parameters.pid, 10)`,
      "ptrace of a sibling": `${RAW} return call(101, 16, parameters.pid)`,
      "a user namespace": `${RAW} return call(272, 0x10000000)`,
      "a unix socket": connect("parameters.socket"),
      "an abstract socket": connect(`"\\0sealift-attack"`),
    },
    parameters,
  );
  t.ok(isAlive(pid));
  const after = statSync(sibling);
  t.same({ mode: after.mode, dates: after.mtimeMs, priority: getPriority(pid) }, before);
  t.equal(readFileSync(sibling, "utf8"), "untouched");

  t.match(
    await host.attack(connect(`parameters.port, "127.0.0.1"`), parameters),
    { done: 1 },
    "it was granted the network",
  );
  t.match(await host.attack(connect(`parameters.port, "127.0.0.1"`), parameters, "victim"), { refused: "EACCES" });
  const own = fs(
    `fs.mkdirSync(context.dataDir + "/a/b", { recursive: true }); fs.writeFileSync(context.dataDir + "/a/c", "x"); fs.renameSync(context.dataDir + "/a/c", context.dataDir + "/a/b/c"); fs.rmSync(context.dataDir + "/a", { recursive: true }); return process.memoryUsage().rss > 1e7`,
  );
  t.match(await host.attack(own), { done: true }, "and its own data are its own");
  const status = await host.attack(`${RAW} return call(39)`);
  t.match(
    status,
    { done: (await host.status("evil")).pid },
    "calls of the kernel work; it is not a process of its own",
  );
});

t.test("what Landlock cannot hold is refused", { skip: noSetpriv }, async (t) => {
  usePath(t, setprivFolder(t));
  const host = await startAttacker(t, {
    setting: "both",
    descriptor: { network: ["example.org:443"] },
    configuration: { plugins: { grants: { evil: { network: true } } } },
  });
  t.match(await host.status("evil"), { state: "error", error_code: "sandbox_unavailable", error: /bubblewrap can/ });
  t.match(await host.attack(`return 1`, {}, "victim"), { done: 1 }, "others load");
  writeFileSync(host.path("plugins/victim/data/x"), "x");
  t.match(await host.attack(fs(`return fs.readFileSync(context.dataDir + "/x", "utf8")`), {}, "victim"), { done: "x" });
});
