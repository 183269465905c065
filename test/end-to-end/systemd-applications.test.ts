// Only in test:all: systemd boots, and runs applications by their units.
// Holds: units start what is granted and installed, with the launch of all others (lib/support/systemd/app-units.ts)
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import t from "tap";
import { LAUNCH } from "../../lib/contract/files/launch.ts";
import { needs } from "../support/programs/optional.ts";
import { SystemdMachine } from "../support/programs/systemd-machine.ts";
import { until } from "../support/until.ts";

const ROOT = "/srv/sealift";
const RELEASE = `${ROOT}/.sealift/releases/project-p/r1`;
/** Says what the kernel knows of it, and answers on its socket. */
const SERVER = `
const fs = require("node:fs");
const of = (name) => new RegExp("^" + name + ":\\\\s*(.*)$", "m").exec(fs.readFileSync("/proc/self/status", "latin1"))[1];
const limit = (name) => new RegExp("^" + name + " +(\\\\S+)", "m").exec(fs.readFileSync("/proc/self/limits", "latin1"))[1];
fs.writeFileSync("storage/said", JSON.stringify({
  umask: of("Umask"), noNewPrivileges: of("NoNewPrivs"), core: limit("Max core file size"), files: limit("Max open files"),
  oom: fs.readFileSync("/proc/self/oom_score_adj", "latin1").trim(), environment: process.env,
}));
require("node:http").createServer((q, r) => r.end("answers")).listen({ fd: 3 });
`;
const APP = `command: [node, server.js]\nlisten: [http]\ndata: storage\nmigrate: [node, migrate.js]\n`;

const skip = needs("systemd-nspawn", "tar", "curl") || (process.getuid?.() !== 0 && "needs root");
t.test("systemd runs an application as its unit says", { skip, timeout: 480_000 }, async (t) => {
  const machine = await SystemdMachine.withPackage(t);
  const run = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await machine.run(...words);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${stderr}${stdout}`);
    return stdout.trim();
  };
  const sealift = machine.sealift.bind(machine);
  const write = machine.write.bind(machine);
  const asked = async (): Promise<string> =>
    (await machine.run("curl", "-s", "--max-time", "5", "http://127.0.0.1:3000/")).stdout;
  const said = async () => JSON.parse(await run("cat", "/var/lib/sealift-app/web/said")) as Record<string, unknown>;
  const active = async (unit: string) => (await machine.show(unit, "ActiveState")).ActiveState;

  // As an agent leaves it.
  const start = "#!/bin/sh\nexec /usr/lib/sealift-node server.js\n";
  for (const [path, text] of Object.entries({
    "app.yaml": APP,
    "server.js": SERVER,
    "migrate.js": `require("node:fs").writeFileSync("storage/migrated", process.env.GREETING)`,
    ".sealift/start": start,
    ".sealift/migrate": start.replace("server", "migrate"),
  }))
    write(`${RELEASE}/apps/web/${path}`, text);
  mkdirSync(machine.path(`${ROOT}/apps`), { recursive: true });
  symlinkSync("../.sealift/releases/project-p/r1/apps/web", machine.path(`${ROOT}/apps/web`));
  symlinkSync("../../../../../data/apps/web", machine.path(`${RELEASE}/apps/web/storage`));
  // A publisher's template: other addresses, and options that our own Node.js refuses.
  write(`${ROOT}/apps/web.env`, "GREETING=hello\nPORT=9\nHOST=0.0.0.0\nNODE_OPTIONS=--title=app\n", 0o600);
  const grant = [
    "systemd",
    "install",
    "app",
    "web",
    "--listen",
    "http=127.0.0.1:3000",
    "--project-root",
    ROOT,
    "--memory-max",
    "512M",
    "--cpu",
    "1.5",
    "--tasks",
    "100",
  ];
  const next = await sealift("systemd", "install", "watch", "--project-root", ROOT).then(() =>
    sealift(...grant, "--json"),
  );
  const { next: steps } = JSON.parse(next.split("\n").at(-1)!) as { next: string[] };
  for (const step of steps) await run("sh", "-c", step);

  await t.test("it gets what the launch says, and the operator's addresses", async (t) => {
    await run("systemctl", "start", "sealift-app@web.service");
    t.equal(await asked(), "answers", await machine.log("sealift-app@web"));
    const { environment, ...process } = await said();
    t.match(process, {
      ...{ umask: LAUNCH.umask, noNewPrivileges: "1", core: "0" },
      oom: String(LAUNCH.oomScoreAdjust),
    });
    t.ok(Number(process.files) <= LAUNCH.openFiles, "or what this machine lets it have");
    t.match(environment, { PATH: LAUNCH.path, NODE_ENV: LAUNCH.nodeEnv, GREETING: "hello" });
    t.match(
      environment,
      { PORT: "3000", HOST: "127.0.0.1", NODE_OPTIONS: "--title=app" },
      "addresses win over settings",
    );
    t.equal(await run("cat", "/var/lib/sealift-app/web/migrated"), "hello");
    t.equal(await run("ls", "-A", "/var/lib/sealift-app/web"), "migrated\nsaid", "nothing of ours is in its data");
    t.match(await sealift("app", "status", "web", "--project-root", ROOT, "--json"), '"membership":"group"');
    t.match(await machine.show("sealift-app@web.service", "MemoryMax", "CPUQuotaPerSecUSec", "TasksMax"), {
      ...{ MemoryMax: "536870912", CPUQuotaPerSecUSec: "1.500000s", TasksMax: "100" },
    });
    const status = JSON.parse(
      (await sealift("app", "status", "web", "--project-root", ROOT, "--json")).split("\n")[0]!,
    ) as { unenforced: string[]; limits: object };
    t.strictSame(status.limits, { memory: "512M", cpu: 1.5, tasks: 100 });
    // What the kernel of this machine has no controller for is said.
    const { ControlGroup: group } = await machine.show("sealift-app@web.service", "ControlGroup");
    for (const [name, file] of Object.entries({ memory: "memory.max", cpu: "cpu.max", tasks: "pids.max" }))
      t.equal(
        (await machine.run("test", "-e", `/sys/fs/cgroup${group}/${file}`)).code !== 0,
        status.unenforced.includes(name),
        name,
      );
  });

  await t.test("a setting that our own program refuses keeps nothing from starting", async (t) => {
    write(`${ROOT}/apps/web.env`, "GREETING=hello\nNODE_OPTIONS=--no-such-option\n", 0o600);
    const { stderr } = await machine.run("systemctl", "restart", "sealift-app@web.service");
    t.match(await machine.log("sealift-app@web"), /--no-such-option is not allowed|bad option/, stderr);
    t.notMatch(await machine.log("sealift-app@web"), /app prepare.*bad option/);
    write(`${ROOT}/apps/web.env`, "GREETING=again\n", 0o600);
    await until(async () => (await asked()) === "answers");
    t.equal(await run("cat", "/var/lib/sealift-app/web/migrated"), "again", "it comes back by itself");
  });

  await t.test("without a grant nothing starts it, nor goes on trying", async (t) => {
    write(`${ROOT}/applications.yaml`, "supervisor: systemd\napplications: {}\n");
    await machine.run("systemctl", "restart", "sealift-app@web.service");
    t.equal(await active("sealift-app@web.service"), "inactive", await machine.log("sealift-app@web"));
    const before = await machine.show("sealift-app@web.service", "NRestarts");
    await run("sleep", "5");
    t.match(await machine.show("sealift-app@web.service", "ActiveState", "NRestarts"), {
      ActiveState: "inactive",
      ...before,
    });
    await sealift(...grant);
    await run("systemctl", "reset-failed");
    await run("systemctl", "start", "sealift-app@web.socket");
    await until(async () => (await asked()) === "answers");
  });

  await t.test("what is stopped is started by nobody, nor by a boot or a connection", async (t) => {
    t.match(await sealift("app", "stop", "web", "--project-root", ROOT), /^web is stopped$/m);
    const stopped = async (why: string): Promise<void> => {
      t.equal(await active("sealift-app@web.service"), "inactive", why);
      t.equal(await active("sealift-app@web.socket"), "inactive", why);
      t.equal(await asked(), "", why);
    };
    await stopped("at once");
    // As a boot does, and an older agent.
    await run("systemctl", "start", "sealift-app@web.socket", "sealift-app@web.service");
    await stopped("started by hand");
    await run("systemctl", "restart", "sealift-app@web.service");
    await stopped("restarted");
    t.equal(await run("stat", "--format=%U", `${ROOT}/.sealift/state/stopped/web`), "sealift-watch");
    const status = await sealift("app", "status", "web", "--project-root", ROOT, "--json");
    t.match(status.split("\n")[0], '"state":"stopped"');
    t.match(
      await machine.run(
        "/usr/lib/sealift-node",
        "/usr/lib/sealift/dist/bin/sealift.js",
        "app",
        "restart",
        "web",
        "--project-root",
        ROOT,
      ),
      {
        ...{ code: 1, stderr: /\(app_stopped\)/ },
      },
    );
    t.match(await sealift("app", "start", "web", "--project-root", ROOT), /^web is healthy$/m);
    t.equal(await asked(), "answers");
    t.equal(await active("sealift-app@web.socket"), "active");
  });

  await t.test("what a version drops is not started again, and its port takes no connection", async (t) => {
    await machine.run("systemctl", "stop", "sealift-app@web.socket", "sealift-app@web.service");
    rmSync(machine.path(`${ROOT}/apps/web`));
    await machine.run("systemctl", "start", "sealift-app@web.socket");
    await machine.run("systemctl", "start", "sealift-app@web.service");
    t.equal(await active("sealift-app@web.service"), "inactive");
    t.equal(await asked(), "");
  });

  await t.test("the unit of app serve gives each application a control group of its own", async (t) => {
    const [root, release] = [ROOT, RELEASE].map((path) => path.replace("/srv/sealift", "/srv/served"));
    for (const [path, text] of Object.entries({
      "app.yaml": "command: [node, server.js]\nlisten: [http]\n",
      ".sealift/start": start,
    }))
      write(`${release}/apps/web/${path}`, text);
    write(
      `${release}/apps/web/server.js`,
      `require("node:http").createServer((q, r) => r.end("served")).listen({ fd: 3 });`,
    );
    mkdirSync(machine.path(`${root}/apps`), { recursive: true });
    symlinkSync("../.sealift/releases/project-p/r1/apps/web", machine.path(`${root}/apps/web`));
    write(
      `${root}/applications.yaml`,
      "supervisor: serve\napplications: { web: { user: app-web, listen: { http: 3005 } } }\n",
    );
    await sealift("systemd", "install", "apps", "--project-root", root!);
    await run("systemctl", "daemon-reload");
    await run("systemctl", "start", "sealift-apps");
    const served = async (): Promise<string> =>
      (await machine.run("curl", "-s", "--max-time", "5", "http://127.0.0.1:3005/")).stdout;
    await until(async () => (await served()) === "served");
    const status = await sealift("app", "status", "web", "--project-root", root!, "--json");
    t.match(status, '"membership":"group"', await machine.log("sealift-apps"));
    const { pid } = JSON.parse(status.split("\n")[0]!) as { pid: number };
    t.match(await run("cat", `/proc/${pid}/cgroup`), /sealift-apps\.service\/sealift-app-[0-9a-f]+-web/);
    await run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "sealift-apps");
    await machine.until("sealift-apps", "NRestarts", (count) => count === "1");
    await until(async () => (await served()) === "served");
    await run("systemctl", "stop", "sealift-apps");
    t.equal(await served(), "");
    t.match(await machine.show("sealift-apps", "ActiveState", "Result"), {
      ActiveState: "inactive",
      Result: "success",
    });
  });
});
