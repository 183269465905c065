// Holds: what a program of an application gets (lib/contract/files/launch.ts)
// Holds: programs before it get nothing of its settings (lib/apps/guard.ts)
// Holds: units write the same launch (lib/support/systemd/app-units.ts)
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { AppServe } from "../../../lib/apps/serve.ts";
import { LAUNCH } from "../../../lib/contract/files/launch.ts";
import { planAppUnits } from "../../../lib/support/systemd/app-units.ts";
import { rounds } from "../../support/effort.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot, GRANT_USER } from "../../support/host/application-root.ts";
import { logOf, SEALIFT, ServedRoot } from "../../support/host/served-root.ts";
import { needs } from "../../support/programs/optional.ts";
import { until } from "../../support/until.ts";

const isRoot = process.getuid?.() === 0;

/** Says what the kernel knows of the process, and what its environment is. */
const SAYS = `
const fs = require("node:fs");
const status = fs.readFileSync("/proc/self/status", "latin1");
const of = (name) => new RegExp("^" + name + ":\\\\s*(.*)$", "m").exec(status)[1];
const limits = fs.readFileSync("/proc/self/limits", "latin1");
const limit = (name) => new RegExp("^" + name + " +(\\\\S+) +(\\\\S+)", "m").exec(limits)?.slice(1);
if (fs.existsSync("storage")) fs.writeFileSync("storage/made", "");
console.log("SAYS " + JSON.stringify({
  umask: of("Umask"), noNewPrivileges: of("NoNewPrivs"), groups: of("Groups").trim(),
  core: limit("Max core file size"), files: limit("Max open files"),
  oom: fs.readFileSync("/proc/self/oom_score_adj", "latin1").trim(),
  cwd: process.cwd(), environment: process.env, stdin: fs.readlinkSync("/proc/self/fd/0"),
}));
setInterval(() => {}, 1000);
`;

interface Said {
  umask: string;
  noNewPrivileges: string;
  groups: string;
  core: string[];
  files: string[];
  oom: string;
  environment: Record<string, string>;
  stdin: string;
}

async function saidBy(t: Test, settings: string, files: Record<string, string> = {}, app: object = {}) {
  const root = await ApplicationRoot.make(t);
  const port = await freePort();
  const release = await root.install("web", {
    ...{ app: { ports: ["http", "metrics-2"], ...app } },
    files: { "server.js": SAYS, ...files },
  });
  await root.grant({ web: { listen: { http: port, "metrics-2": `[::1]:${port}` } } });
  writeFileSync(join(root.layout.root, "apps/web.env"), settings, { mode: 0o600 });
  const data = join(root.layout.sealift, "data/apps/web");
  if ("data" in app) {
    mkdirSync(data, { recursive: true });
    symlinkSync(data, join(root.layout.releases("project-p"), release, "apps/web/storage"));
  }
  const served = await AppServe.start(root.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  const log = (): string => readFileSync(logOf(root, "web"), "utf8");
  const found = (): string | undefined => /SAYS (.*)\n/.exec(log())?.[1];
  await until(() => {
    try {
      return found() !== undefined || served.statuses()[0]?.state === "waiting";
    } catch {
      return false;
    }
  });
  if (found() === undefined) throw new Error(`${JSON.stringify(served.statuses())}\n${log()}`);
  return { said: JSON.parse(found()!) as Said, root, port, served, log: log(), data };
}

t.test("app serve gives what the launch says", { skip: process.platform !== "linux" }, async (t) => {
  const { said, port, data } = await saidBy(
    t,
    "PORT=1\nHOST=0.0.0.0\nPORT_METRICS_2=2\nA=b\n",
    {},
    { data: "storage" },
  );
  t.equal(said.umask, LAUNCH.umask);
  t.equal(said.noNewPrivileges, "1");
  t.same(said.core, ["0", "0"]);
  t.ok(Number(said.files[1]) <= LAUNCH.openFiles, "as many files as the launch says, or as this machine lets it have");
  t.equal(said.oom, String(LAUNCH.oomScoreAdjust));
  t.equal(said.stdin, "/dev/null");
  if (isRoot) t.equal(said.groups, "65534", "the groups of its user, and no others");
  t.match(said.environment, {
    ...{ PATH: LAUNCH.path, NODE_ENV: LAUNCH.nodeEnv, A: "b" },
    ...{ PORT: String(port), HOST: "127.0.0.1", PORT_METRICS_2: String(port), HOST_METRICS_2: "::1" },
  });
  t.equal(statSync(data).mode & 0o777, LAUNCH.dataMode);
  t.equal(statSync(join(data, "made")).mode & 0o777, 0o600);
});

t.test("units of systemd give the same", async (t) => {
  const socket = ["http", "127.0.0.1:3000"] as const;
  const files = await planAppUnits({
    ...{ id: "web", instance: "web", user: "app-web", socket, environment: { PORT: "3000", HOST: "127.0.0.1" } },
    ...{ node: "/usr/bin/node", packageFolder: undefined, projectRoot: "/srv/harbour", root: t.testdir({}) },
  });
  const textOf = (path: string): string => files.find((file) => file.path.endsWith(path))!.content;
  const template = textOf("sealift-app@.service").split("\n");
  for (const line of [
    `UMask=${LAUNCH.umask}`,
    `StateDirectoryMode=0${LAUNCH.dataMode.toString(8)}`,
    "NoNewPrivileges=yes",
    `Environment=PATH=${LAUNCH.path}`,
    `Environment=NODE_ENV=${LAUNCH.nodeEnv}`,
    `LimitCORE=${LAUNCH.coreBytes}`,
    `LimitNOFILE=${LAUNCH.openFiles}`,
    `OOMScoreAdjust=${LAUNCH.oomScoreAdjust}`,
  ])
    t.ok(template.includes(line), line);
  const last = textOf("sealift.conf")
    .split("\n")
    .findLast((line) => line.startsWith("EnvironmentFile="))!;
  t.equal(last, "EnvironmentFile=/etc/sealift/apps/web.env", "addresses win, and a missing file starts nothing");
  t.match(textOf("apps/web.env"), "PORT=3000\nHOST=127.0.0.1\n");
  t.notMatch(textOf("sealift.conf"), /^Environment=/m, "which any settings would beat");
});

t.test("settings reach the program as they are, whatever is in them", async (t) => {
  const values = {
    ...{ QUOTES: `it's "x" \`y\` $z \\ \\\\ \\n`, SPACES: "  a  b  ", EMPTY: "", EMOJI: "⚓", EQUALS: "a=b=c" },
    ...{ LONG: "x".repeat(60_000), PS4: "$(id)", ENV: "/nowhere", DASH: "-n -e" },
  };
  const text = Object.entries(values)
    .map(([name, value]) => `${name}=${value.includes("'") ? value : `'${value}'`}\n`)
    .join("");
  const { QUOTES: _quotes, ...plain } = values;
  const { said } = await saidBy(t, `${text}KEY="-----BEGIN KEY-----\nabc\n-----END KEY-----\n"\nUID=7\nnot-a-name=x\n`);
  t.match(said.environment, plain);
  t.equal(said.environment.KEY, "-----BEGIN KEY-----\nabc\n-----END KEY-----\n");
  t.equal(said.environment.QUOTES?.startsWith(`it's "x"`), true);
  t.notOk("not-a-name" in said.environment);
});

t.test(
  "settings of a publisher reach no program of ours",
  { skip: !isRoot && "only root changes users" },
  async (t) => {
    const thief = `#!/bin/sh\n{ grep NoNewPrivs /proc/self/status; id -u; echo "$0"; } >> /tmp/sealift-thief-$$\necho STOLEN\n`;
    const names = ["setpriv", "sh", "cat", "env", "umask"];
    const files = Object.fromEntries(names.map((name) => [name, thief]));
    const settings = `PATH=.:/usr/bin:/bin\nLD_PRELOAD=./missing.so\nBASH_ENV=./sh\nNODE_OPTIONS=--no-warnings\nIFS=x\n`;
    const root = await ApplicationRoot.make(t);
    const release = await root.install("web", { files: { "server.js": SAYS, ...files } });
    for (const name of names) chmodSync(join(root.layout.releases("project-p"), release, "apps/web", name), 0o755);
    await root.grant({ web: {} });
    writeFileSync(join(root.layout.root, "apps/web.env"), settings, { mode: 0o600 });
    const served = await AppServe.start(root.layout, () => undefined);
    t.teardown(() => served[Symbol.asyncDispose]());
    const read = (): string => (existsSync(logOf(root, "web")) ? readFileSync(logOf(root, "web"), "utf8") : "");
    await until(() => /SAYS|ended/.test(read()));
    const log = read();
    t.notMatch(log, "STOLEN");
    const preloads = log.split("\n").filter((line) => line.includes("missing.so") && line.includes("preload"));
    t.ok(preloads.length <= 2, `only the launcher and the program itself: ${preloads.length}`);
  },
);

t.test("settings never stand in the arguments of a process", { skip: process.platform !== "linux" }, async (t) => {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { migrate: ["true"], files: { "server.js": "setInterval(() => {}, 1000)" } });
  await root.grant({ web: {} });
  const secret = `planted-${process.pid}-secret`;
  writeFileSync(join(root.layout.root, "apps/web.env"), `TOKEN=${secret}\n`, { mode: 0o600 });
  const served = await AppServe.start(root.layout, () => undefined);
  t.teardown(() => served[Symbol.asyncDispose]());
  const restarts = rounds(5, 50);
  let isDone = false;
  const seen: string[] = [];
  const watching = (async () => {
    while (!isDone) {
      for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
        try {
          const words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
          if (words.includes(secret)) seen.push(words);
        } catch {
          // It has ended.
        }
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  try {
    for (let count = 0; count < restarts; count++) await served.act("web", "restart");
  } finally {
    isDone = true;
    await watching;
  }
  t.same(seen, []);
});

t.test("a neighbour reads nothing of an application's data", { skip: !("user" in GRANT_USER) }, async (t) => {
  const { data } = await saidBy(t, "", {}, { data: "storage" });
  t.equal(statSync(data).mode & 0o077, 0);
  const reads = (uid: number) => spawnSync("/bin/cat", [join(data, "made")], { uid, gid: uid, cwd: "/" });
  t.equal(reads(statSync(data).uid).status, 0, "its own user does");
  t.match(reads(statSync(data).uid - 1), { status: 1, stderr: /Permission denied/ });
});

t.test(
  "without a setpriv that knows our flags, as of BusyBox, it is started all the same",
  { skip: isRoot ? needs("unshare") : "only root mounts" },
  async (t) => {
    const root = await ApplicationRoot.make(t);
    await root.install("web", { files: { "server.js": SAYS } });
    await root.grant({ web: {} });
    const other = join(t.testdir({ setpriv: "#!/bin/sh\nexit 1\n" }), "setpriv");
    chmodSync(other, 0o755);
    const instead = 'mount --bind "$0" "$(command -v setpriv)" && exec "$@"';
    const served = await ServedRoot.start(t, root, "host", [
      ...["unshare", "--mount", "sh", "-c", instead, other, process.execPath, SEALIFT],
    ]);
    t.ok(served.has("application.started", { membership: "none" }), JSON.stringify(served.events));
    await until(() => readFileSync(logOf(root, "web"), "utf8").includes("SAYS"));
  },
);
