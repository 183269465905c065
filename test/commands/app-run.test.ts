// Holds: a command runs in the place of an application, and ends as it does (lib/apps/run.ts, lib/apps/guard.ts)
// Holds: whatever it has started ends with it, and with whoever runs it (lib/apps/run.ts)
// Holds: which forms of it begin at once, and what the others are told (commands/apps/run-served.ts,
// commands/apps/app-run.ts)
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { releasesRunIn } from "../../lib/releases/runs.ts";
import { ApplicationRoot, GRANT_USER } from "../support/host/application-root.ts";
import { logOf, SEALIFT } from "../support/host/served-root.ts";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";
import { until } from "../support/until.ts";

async function application(t: Test) {
  const root = await ApplicationRoot.make(t);
  await root.installTogether({
    web: {
      app: {
        environment: { required: ["GREETING"], optional: ["EMPTY"], values: { EMPTY: "full", LEVEL: "it's $low" } },
      },
      files: { "server.js": "", "there.txt": "there" },
    },
    worker: { app: { of: "web", environment: { values: { LEVEL: "it's $low" } } }, files: {} },
  });
  await root.grantAsIs({ web: GRANT_USER, worker: { of: "web" } });
  writeFileSync(join(root.layout.root, "apps/web.env"), "GREETING=it's $HOME\nIFS=x\nEMPTY=\nA;echo STOLEN=1\n", {
    mode: 0o600,
  });
  const open = join(root.layout.root, "open");
  mkdirSync(open);
  chmodSync(open, 0o777);
  const begin = (id: string, words: readonly string[], input?: string) => {
    const args = [SEALIFT, "app", "run", id, "--project-root", root.layout.root, "--", ...words];
    const child = spawn(process.execPath, args, { stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"] });
    child.stdin?.end(input);
    const printed = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name]!.setEncoding("utf8").on("data", (text: string) => (printed[name] += text));
    return { child, printed, ended: once(child, "close").then(([code]) => ({ code: code as number, ...printed })) };
  };
  const run = (id: string, words: readonly string[], input?: string) => begin(id, words, input).ended;
  return { root, open, begin, run };
}

/** Processes whose command line has a word of this test. */
const living = (word: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word)
      );
    } catch {
      return false;
    }
  });

t.test("a command has the application's user, folder and settings, and these pipes", async (t) => {
  const { root, run } = await application(t);
  const script = `process.stdout.write(JSON.stringify({ uid: process.getuid(), greeting: process.env.GREETING, cwd: process.cwd(),
    there: require("fs").readFileSync("there.txt", "utf8"), input: require("fs").readFileSync(0, "utf8"), ifs: process.env.IFS,
    told: process.env.sealift_told, empty: process.env.EMPTY, level: process.env.LEVEL, umask: process.umask() }))`;
  for (const id of ["web", "worker"]) {
    const { code, stdout, stderr } = await run(id, [process.execPath, "-e", script], "typed");
    t.equal(code, 0, stderr);
    const said = JSON.parse(stdout) as { uid: number; told?: string; ifs?: string };
    const { told, ifs } = said;
    t.match(said, {
      greeting: "it's $HOME",
      empty: "",
      level: "it's $low",
      cwd: /apps\/web$/,
      there: "there",
      input: "typed",
      umask: 0o077,
    });
    t.strictSame([told, ifs], [undefined, undefined], "names of the shell, and of ours, are no settings");
    if (process.getuid!() === 0) t.not(said.uid, 0);
  }
  const log = readFileSync(logOf(root, "web"), "utf8");
  t.match(
    log,
    /sealift: a run begins as process \d+, user .*\n.*sealift: the run as process \d+ ended with exit code 0/,
  );
  t.notMatch(log, /readFileSync|GREETING/, "without its words");
  t.strictSame(readdirSync(join(root.layout.sealift, "runs")), []);
});

t.test("it has the limits of the application, or says which do nothing", async (t) => {
  const { root, run } = await application(t);
  await root.grantAsIs({ web: { ...GRANT_USER, limits: { tasks: 77 } }, worker: { of: "web" } });
  const { stdout, stderr } = await run("web", ["cat", "/proc/self/cgroup"]);
  const [, group = ""] = /^0::.*\/(sealift-run-[^/\n]+)$/m.exec(stdout) ?? [];
  if (process.getuid!() === 0) t.match(group, /^sealift-run-[0-9a-f]{16}-\d+$/);
  if (!stderr.includes("note: no control group limits its tasks here.")) {
    const limit = await run("web", [
      "sh",
      "-c",
      'cat "$(grep cgroup2 /proc/mounts | cut -d" " -f2)$(sed -n s/^0:://p /proc/self/cgroup)/pids.max"',
    ]);
    t.equal(limit.stdout.trim(), "77", stdout);
  }
});

t.test("it ends with the exit code of the command, and 128 more for a signal", async (t) => {
  const { root, run } = await application(t);
  for (const [words, code] of [
    [["sh", "-c", "exit 7"], 7],
    [["sh", "-c", "kill -INT $$"], 130],
    [["sh", "-c", "kill -KILL $$"], 137],
    [["no-such-program"], 127],
    [["./there.txt"], 126],
  ] as const)
    t.match(await run("web", words), { code }, words.join(" "));
  t.match(await run("web", []), { code: 2, stderr: /Give it after two dashes/ });
  t.match(await run("web", ["-x"]), { code: 2, stderr: /No command is given/ });
  t.match(await run("nobody", ["true"]), { code: 1, stderr: /does not grant nobody/ });
  await root.grantAsIs({ web: GRANT_USER, worker: { of: "web" }, api: GRANT_USER });
  t.match(await run("api", ["true"]), { code: 1, stderr: /\(app_not_installed\)/ });
  const many = await run("web", [
    "sh",
    "-c",
    'echo $# "$1" "$10000"',
    "sh",
    ...Array.from({ length: 10_000 }, (_, at) => `$HOME ${at}`),
  ]);
  t.match(many, { code: 0, stdout: /^10000 \$HOME 0 / }, many.stderr);
});

t.test("only the plain form begins at once, and what cannot begin is left to the command", async (t) => {
  const { root, open } = await application(t);
  const units = await ApplicationRoot.make(t);
  await units.install("web", { files: {} });
  await units.grant({ web: {} }, "systemd");
  const at = ["--project-root", root.layout.root];
  const fromEnv = { SEALIFT_PROJECT_ROOT: root.layout.root };
  const forms: [words: string[], code: number | null, env?: Record<string, string>][] = [
    [["web", ...at, "--", "sh", "-c", "exit 7"], 7],
    [["web", ...at, "--", "true"], 0, { PATH: "/bin", SEALIFT_HUB_URL: "https://hub.example" }],
    [["web", "--", "true"], 0, fromEnv],
    [["web", "--", "true"], null, {}],
    [["web", ...at, "true"], null],
    [["web", ...at, "-v", "true"], null],
    [["web", "--root", root.layout.root, "--", "true"], null, fromEnv],
    [["web", "-v", "true"], null, fromEnv],
    [["web", ...at, "--", "-x"], null],
    [["web", ...at, "--"], null],
    [["nobody", ...at, "--", "true"], null],
    [["../web", ...at, "--", "true"], null],
    [["web", "--project-root", units.layout.root, "--", "true"], null],
    ...["SEALIFT_ALLOW_FOREIGN_ROOT", "OTEL_TRACES_EXPORTER", "CREDENTIALS_DIRECTORY"].map(
      (name): [string[], null, Record<string, string>] => [["web", ...at, "--", "true"], null, { [name]: "x" }],
    ),
  ];
  const asked = JSON.stringify(forms.map(([words, , env = {}]) => ({ words, env })));
  const program = fileURLToPath(new URL("../support/programs/run-at-once.ts", import.meta.url));
  const said = execFileSync(process.execPath, [program, asked], { cwd: open, encoding: "utf8" });
  const codes = JSON.parse(said) as (number | null)[];
  for (const [index, [words, code, env]] of forms.entries())
    t.equal(codes[index], code, `${words.join(" ")} ${JSON.stringify(env)}`);
});

t.test("settings that cannot be read are told with what to do about them", async (t) => {
  const { root, run } = await application(t);
  const file = join(root.layout.root, "apps/web.env");
  rmSync(file);
  execFileSync("mkfifo", [file]);
  t.match(await run("web", ["true"]), {
    code: 2,
    stderr: /\(config_invalid\).*it is a pipe.*\n.*Put a file in its place/,
  });
});

t.test("signals are passed on, and nothing stays behind", async (t) => {
  const { root, open, begin } = await application(t);
  for (const [signal, code] of [
    ["SIGTERM", 0],
    ["SIGINT", 0],
    ["SIGKILL", null],
  ] as const) {
    const mark = `marked-${process.pid}-${signal}`;
    const file = join(open, signal);
    const script = `trap 'echo passed > ${file}; exit 0' TERM INT; setsid sh -c 'while :; do sleep 0.1; done' ${mark} & (sleep 600; :) & echo begun; while :; do sleep 0.1; done`;
    const { child, printed, ended } = begin("web", ["sh", "-c", script, mark]);
    await until(() => printed.stdout.includes("begun"));
    t.strictSame([...(await releasesRunIn(root.layout, "project-p"))], ["r1"], "its release is not collected");
    child.kill(signal);
    t.match(await ended, { code }, signal);
    await until(() => living(mark).length === 0);
    t.equal(existsSync(file), signal !== "SIGKILL");
    t.strictSame([...(await releasesRunIn(root.layout, "project-p"))], []);
  }
  t.strictSame(readdirSync(join(root.layout.sealift, "runs")), [], "records of those that were killed go, too");
});

t.test("a terminal is the command's own, where there is one", { skip: needs("tmux") }, async (t) => {
  const { root } = await application(t);
  const script = "test -t 0 && test -t 1 && echo is a terminal; read -r line; echo got $line; exit 3";
  const words = ["app", "run", "web", "--project-root", root.layout.root, "--", "sh", "-c", script];
  await using terminal = await Terminal.run([process.execPath, SEALIFT, ...words]);
  await terminal.shows(/^is a terminal/m);
  await terminal.press("typed", "Enter");
  await terminal.shows(/^got typed/m);
  await terminal.shows(/^exit 3/m);
  const again = [
    "app",
    "run",
    "web",
    "--project-root",
    root.layout.root,
    "--",
    "sh",
    "-c",
    "echo waits; exec sleep 600",
  ];
  await using interrupted = await Terminal.run([process.execPath, SEALIFT, ...again]);
  await interrupted.shows(/^waits/m);
  await interrupted.press("C-c");
  await interrupted.shows(/exit 130/);
});
