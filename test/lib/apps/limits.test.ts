// Holds: limits of an operator (lib/apps/limits.ts, lib/support/control-groups/member-limits.ts,
// lib/contract/files/limit-forms.ts, lib/agent/supervisors/unit-usage.ts)
// In a process of its own: it starts programs.
import { chmodSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { unitUsage } from "../../../lib/agent/supervisors/unit-usage.ts";
import { applicationsFile } from "../../../lib/contract/files/applications.ts";
import { limitGroup, usedIn } from "../../../lib/support/control-groups/member-limits.ts";
import { freePort } from "../../support/free-port.ts";
import { applicationHost, appSource } from "../../support/host/application-host.ts";
import { ApplicationRoot, HANDED_OVER } from "../../support/host/application-root.ts";
import { logOf, ServedRoot } from "../../support/host/served-root.ts";
import { commandLine } from "../../support/programs/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
const USER = isRoot ? ["--user", "nobody"] : ["--same-user"];

t.test("app allow writes limits, each by itself, and refuses others", async (t) => {
  const root = temporaryFolder(t);
  chmodSync(root, 0o755);
  const allow = (...words: string[]) => commandLine(["app", "allow", "web", ...USER, ...words, "--project-root", root]);
  const grant = async () =>
    applicationsFile.parse((await import("yaml")).parse(await readFile(join(root, "applications.yaml"), "utf8")));
  t.match(await allow("--memory-max", "512M", "--cpu", "1.5", "--tasks", "100"), { code: 0 });
  t.strictSame((await grant()).applications["web"]?.limits, { memory: "512M", cpu: 1.5, tasks: 100 });
  t.match(await allow("--memory-max", "2G"), { code: 0 });
  t.strictSame((await grant()).applications["web"]?.limits, { memory: "2G", cpu: 1.5, tasks: 100 });
  const before = readFileSync(join(root, "applications.yaml"), "utf8");
  for (const words of [
    ...[
      ["--memory-max", "512"],
      ["--memory-max", "0M"],
      ["--memory-max", "512m"],
    ],
    ...[
      ["--cpu", "0"],
      ["--cpu", "1e3"],
      ["--cpu", "1025"],
      ["--cpu", "0.001"],
    ],
    ...[
      ["--tasks", "0"],
      ["--tasks", "1.5"],
      ["--tasks", "1000001"],
    ],
  ])
    t.match(await allow(...words), { code: 2, stderr: new RegExp(`${words[0]}.* is a `) }, words.join(" "));
  t.equal(readFileSync(join(root, "applications.yaml"), "utf8"), before);
});

t.test("a version that asks for more than the operator allows is held", async (t) => {
  const h = await applicationHost(
    t,
    "supervisor: serve\napplications: { web: { limits: { memory: 512M, tasks: 50 } } }\n",
  );
  const source = (limits: string, version = "1.0.0") =>
    appSource(version, ["web"], `command: [sh, server.sh]\nlimits: ${limits}\n`);
  const held = await h.run(source("{ memory: 1G, cpu: 4, tasks: 51 }"));
  t.match(held, { outcome: "failed", error: { code: "app_not_allowed" } });
  t.match(
    held.error?.message,
    /web asks for 1G memory, and may have 512M; .* asks for 51 processes and threads, and may have 50/,
  );
  t.match(await h.run(source("{ memory: 512M, cpu: 4, tasks: 50 }")), { outcome: "deployed" });
  t.match(await h.run(source("{ memory: 512 }", "1.1.0")), { outcome: "failed", error: { code: "app_invalid" } });
});

t.test("app serve limits where a control group can, and says where it cannot", async (t) => {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  await root.install("web", { app: { listen: ["http"] }, files: { "server.js": HANDED_OVER } });
  await root.grant({ web: { listen: { http: port }, limits: { memory: "256M", cpu: 1, tasks: 64 } } });
  const served = await ServedRoot.start(t, root);
  const [started] = served.events.filter(({ event }) => event === "application.started");
  const { stdout } = await commandLine(["app", "status", "web", "--project-root", root.layout.root, "--json"]);
  const status = JSON.parse(stdout.split("\n")[0]!) as {
    unenforced: string[];
    used: { memory_bytes: number; cpu_seconds: number; tasks: number };
    pid: number;
  };
  t.match(status, { limits: { memory: "256M", cpu: 1, tasks: 64 } });
  t.ok(
    status.used.memory_bytes > 10 * 2 ** 20,
    `${JSON.stringify(status)} ${readFileSync(logOf(root, "web"), "utf8")}`,
  );
  t.ok(status.used.tasks >= 5 && status.used.tasks <= 64);
  t.ok(status.used.cpu_seconds > 0 && status.used.cpu_seconds < 60);
  const group = /^0::(.*)$/m.exec(readFileSync(`/proc/${status.pid}/cgroup`, "latin1"))?.[1] ?? "/";
  const limitOf = async (file: string): Promise<string | undefined> => {
    for (const mount of ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"])
      try {
        return (await readFile(join(mount, group, file), "latin1")).trim();
      } catch {
        // There is no such controller.
      }
    return undefined;
  };
  // Either the kernel has the limit, or everybody is told that it does nothing.
  const kernel = {
    memory: await limitOf("memory.max"),
    cpu: await limitOf("cpu.max"),
    tasks: await limitOf("pids.max"),
  };
  const wanted = { memory: String(256 * 2 ** 20), cpu: "100000 100000", tasks: "64" };
  for (const name of ["memory", "cpu", "tasks"] as const)
    t.equal(kernel[name] === wanted[name], !status.unenforced.includes(name), `${name}: ${kernel[name]}`);
  t.strictSame(started?.["unenforced"] ?? [], status.unenforced);
  const shown = await commandLine(["app", "status", "web", "--project-root", root.layout.root]);
  t.match(shown.stdout, /uses +[\d.]+ MiB of 256M memory, [\d.]+ s of 1 processors, \d+ of 64 processes and threads/);
  for (const name of status.unenforced)
    t.match(shown.stdout, { memory: /of memory does nothing/, cpu: /of processors does/, tasks: /threads does/ }[name]);
  const ready = served.events.find(({ event }) => event === "ready");
  t.strictSame(ready?.["unenforced"], status.unenforced.length === 0 ? {} : { web: status.unenforced });
});

t.test("limits are written as the kernel reads them, and taken away with the grant", async (t) => {
  const folder = temporaryFolder(t);
  for (const file of ["memory.max", "memory.swap.max", "cpu.max", "pids.max"]) await writeFile(join(folder, file), "");
  const read = async (file: string): Promise<string> => readFile(join(folder, file), "utf8");
  t.strictSame(await limitGroup(folder, { memoryBytes: 1024, cpu: 0.25, tasks: 9 }), []);
  t.strictSame(await Promise.all(["memory.max", "memory.swap.max", "cpu.max", "pids.max"].map(read)), [
    ...["1024", "0", "25000 100000", "9"],
  ]);
  t.strictSame(await limitGroup(folder, {}), []);
  t.match(await read("cpu.max"), /^max 100000/);
  t.strictSame(await limitGroup(join(folder, "gone"), { memoryBytes: 1, tasks: 1 }), ["memory", "tasks"]);
  await writeFile(join(folder, "memory.current"), "4096\n");
  await writeFile(join(folder, "cpu.stat"), "usage_usec 2500000\nuser_usec 1\n");
  await writeFile(join(folder, "pids.current"), "3\n");
  t.strictSame(usedIn(folder, []), { memory_bytes: 4096, cpu_seconds: 2.5, tasks: 3 });
  t.end();
});

t.test("numbers of systemd, and those that it does not know", (t) => {
  const none = { MemoryCurrent: "[not set]", CPUUsageNSec: "18446744073709551615", TasksCurrent: "[not set]" };
  t.strictSame(unitUsage(none), { used: null, unenforced: [] });
  t.match(unitUsage({ MemoryCurrent: "1000", CPUUsageNSec: "1500000000", TasksCurrent: "4" }), {
    used: { memory_bytes: 1000, cpu_seconds: 1.5, tasks: 4 },
  });
  t.strictSame(unitUsage({ ...none, ControlGroup: "/", MemoryMax: "1" }).used, null);
  t.end();
});
