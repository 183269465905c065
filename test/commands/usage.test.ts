import { execFile, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import t from "tap";
import { diagnose } from "../../commands/shell/diagnosis.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { offeredCommands } from "../../commands/shell/synonyms.ts";
import { commandLine, type Ended } from "../support/programs/command-line.ts";

/** The messages for a person who has typed something that cannot be run. */

function run(program: string, args: readonly string[], options: { cwd?: string; env?: object } = {}): Promise<Ended> {
  const file = fileURLToPath(new URL(`../../dist/bin/${program}.js`, import.meta.url));
  const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: "/nowhere", ...options.env };
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { cwd: options.cwd, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

const sealift = (line: string, { cwd, env }: { cwd?: string; env?: object } = {}): Promise<Ended> =>
  commandLine(line === "" ? [] : line.split(" "), {
    ...(cwd !== undefined && { cwd }),
    env: { PATH: process.env.PATH, XDG_CONFIG_HOME: "/nowhere", ...env },
  });

t.test("an error says what is wrong, what was probably meant, and how the command is called", async (t) => {
  const cases: [line: string, ...patterns: RegExp[]][] = [
    ["kyes create", /Unknown command: kyes/, /Did you mean `sealift key create`/],
    ["quota", /Unknown command: quota/, /Did you mean `sealift hub quota`/],
    ["quota list --help", /Unknown command: quota/, /Did you mean `sealift hub quota list`/],
    ["hub quoat --help", /Unknown command: hub quoat/, /Did you mean `sealift hub quota`/],
    ["deploy-projct", /Did you mean `sealift deploy-project`/],
    ["key", /needs one more word: create, list, revoke or rotate/, /sealift key --help/],
    [
      "key lst",
      /Unknown command: key lst\. sealift key knows create, list, revoke or rotate/,
      /Did you mean `sealift key list`/,
    ],
    ["key revoke", /ID is missing/, /Usage: sealift key revoke ID \[options\]/, /sealift key revoke --help/],
    ["key revoke a b", /Unexpected argument: b/],
    ["key create --nmae hosts", /Unknown option: --nmae\. Did you mean --name\?\n {2}Usage/],
    ["key list --jq .name", /Unknown option: --jq\. Pipe --json to jq\.\n {2}Usage/],
    ["key revoke --api-key", /--api-key needs a value: KEY/, /ID is missing/],
    ["deploy-marketplace a --symlinks", /--symlinks needs a value: refuse\|skip/],
    ["version yank", /TARGET and VERSION are missing/],
    ["key create", /--name, --hub-url and --api-key are missing/],
    ["signer create", /--out is missing/],
    ["--json", /The command comes first/],
  ];
  for (const [line, ...patterns] of cases) {
    const { code, stdout, stderr } = await sealift(line);
    const told = line.includes("--json") ? stdout : stderr;
    t.equal(code, 2, line);
    for (const pattern of patterns) t.match(told, pattern, line);
  }
});

t.test("no guess by spelling leads to a command that takes something away", async (t) => {
  const guess = (line: string): string => diagnose("sealift", COMMANDS, line.split(" "), "").hint ?? "";
  for (const line of ["promote", "host promote", "grant review", "key involve", "signer resign"])
    t.notMatch(guess(line), /remove|delete|revoke|reject|abort|retire|forget|rollback|yank/, line);
  t.match(guess("remvoe"), "Did you mean `sealift remove`");
  t.match(guess("host remov"), "Did you mean `sealift host remove`");
  t.match(guess("rolback"), "Did you mean `sealift rollback`");
  t.match(guess("rollot strat"), "Did you mean `sealift rollout start`", "others are guessed as before");
});

t.test("a command that other programs have is answered with the ones that do it here", async (t) => {
  const cases: Record<string, string[]> = {
    yank: ["version yank"],
    "yank Demo 1.0.0": ["version yank"],
    search: ["marketplace search"],
    describe: ["status", "version list", "rollout show"],
    show: ["status", "version list", "rollout show"],
    publish: ["project publish", "plugin publish", "marketplace publish"],
    delete: ["project delete", "version delete", "remove"],
    ls: ["project list", "version list", "fleet"],
    rm: ["remove", "version delete", "project delete"],
    log: ["logs", "history", "audit list"],
    "rollout status": ["rollout show", "rollout list"],
    "rollout cancel Demo": ["rollout abort"],
    "rollout stop": ["rollout pause", "rollout abort"],
    "rollout create": ["rollout start"],
    "key delete": ["key revoke"],
    "key show": ["key list"],
    "keys remove": ["key revoke"],
    "keys create": ["key create"],
    "projects list": ["project list"],
    keygen: ["signer create"],
    "marketplace yank": ["version yank"],
    "tokens list": ["key list"],
    "signer delete": ["signer revoke", "signer retire"],
    "webhook create": ["webhook add"],
    "webhook show": ["webhook list"],
    "version remove": ["version delete"],
    "plugin install": ["marketplace deploy"],
    "host add": ["host invite", "join"],
    // Where no word is known, spelling decides.
    "deploy-projct": ["deploy-project"],
  };
  for (const [line, meant] of Object.entries(cases)) {
    const { stderr } = await sealift(line);
    const offered = [...stderr.matchAll(/`sealift ([^`]+)`/g)].map(([, words]) => words!);
    t.strictSame(
      offered.filter((words) => !/--help( --all)?$/.test(words)),
      meant,
      line,
    );
  }
});

t.test("a verb that a group does not have is answered by its meaning, or not at all", (t) => {
  const guessed = (line: string): string[] => {
    const { hint = "" } = diagnose("sealift", COMMANDS, line.split(" "), "");
    return [...hint.matchAll(/`sealift ([^`]+)`/g)].map(([, words]) => words!).filter((words) => !/--help/.test(words));
  };
  for (const line of ["app kill", "app delete", "hub stop", "host stop", "app set", "hub halt"])
    t.strictSame(guessed(line), [], line);
  t.notOk(guessed("app stop").includes("app allow"));
  const meant: Record<string, string[]> = {
    "hub start": ["hub serve"],
    "hub restart": ["hub serve"],
    "plugin run": ["plugin dev"],
    "rollout undo": ["rollout abort"],
    "app log": ["app logs"],
    "app alow": ["app allow"],
    "rollout wiat": ["rollout wait"],
  };
  for (const [line, commands] of Object.entries(meant)) t.strictSame(guessed(line), commands, line);
  t.end();
});

t.test("every command that is offered by meaning is there", (t) => {
  const names = new Set(COMMANDS.flatMap(({ paths = [] }) => paths.map((path) => path.join(" "))));
  t.strictSame(
    offeredCommands().filter((name) => !names.has(name)),
    [],
  );
  t.end();
});

t.test("a program with one role speaks of itself", async (t) => {
  const { code, stderr } = await run("deploy-project", ["--projct-id", "x"]);
  t.equal(code, 2);
  t.match(stderr, /Did you mean --project-id\?\n {2}Usage: deploy-project \[options\]/);
});

t.test("with --json or SEALIFT_JSON, stdout has a result line for usage errors, too", async (t) => {
  for (const [line, env] of [
    ["key revoke --json", {}],
    ["key revoke", { SEALIFT_JSON: "1" }],
    ["key create", { SEALIFT_JSON: "1" }],
  ] as const) {
    const { code, stdout, stderr } = await sealift(line, { env });
    t.equal(code, 2);
    t.equal(stderr, "");
    t.match(JSON.parse(stdout), { v: 1, event: "result", status: "failed", exit_code: 2, error: { code: "usage" } });
  }
});

t.test("help X and version are other words for --help and --version", async (t) => {
  t.equal((await sealift("help key create")).stdout, (await sealift("key create --help")).stdout);
  t.equal((await sealift("help")).stdout, (await sealift("")).stdout);
  t.match((await sealift("key --help")).stdout, /key create.*key list.*key revoke/s);
  const version = await sealift("version");
  t.match(version.stdout, /^\d+\.\d+\.\d+/);
  t.equal(version.stdout, (await sealift("--version")).stdout);
});

t.test("old names and new names are the same command", async (t) => {
  const pairs = [
    ["hub serve", "hub-serve"],
    ["runtime serve", "runtime-serve"],
    ["project deploy", "deploy-project", "deploy project"],
    ["project publish", "deploy-publish"],
    ["marketplace deploy", "deploy-marketplace"],
    ["artifact open", "open"],
    ["watch", "deploy-watch"],
  ];
  for (const names of pairs) {
    const [first, ...others] = await Promise.all(names.map((name) => sealift(`${name} --help`)));
    const options = (text: string): string[] => text.match(/--[a-z0-9-]+/g)!;
    for (const other of others) t.same(options(other.stdout), options(first!.stdout), names.join(", "));
  }
});

t.test("help fits the terminal, with what is required first and defaults at the end", async (t) => {
  const { stdout } = await sealift("deploy-project --help");
  const headings = stdout.match(/^[A-Z][\w ]*:$/gm);
  t.same(headings?.slice(0, 2), ["Required:", "Target:"]);
  t.ok(headings!.indexOf("Limits of archives:") > headings!.indexOf("Project:"));
  t.match(stdout, /--keep-releases NUMBER +Releases to keep, the running one included\s+\(default: 3\)/);
  t.match(stdout, /--hub-url URL/);
});

t.test("a key of sealift.yaml that no command has is refused with the one that was meant", async (t) => {
  const cwd = t.testdir({ "sealift.yaml": "hub_ulr: http://hub\n" });
  const { code, stderr } = await sealift("key list", { cwd });
  t.equal(code, 2);
  t.match(stderr, /sealift\.yaml has unknown keys: hub_ulr\.\n {2}Did you mean hub_url\?/);
});

t.test("watch.yaml in the place of a file of options is told what belongs there", async (t) => {
  const cwd = t.testdir({ "watch.yaml": "targets: [{ target: 'plugin:tides' }]\n" });
  const { code, stderr } = await sealift("watch pause plugin:tides --config watch.yaml", { cwd });
  t.equal(code, 2);
  t.match(stderr, /watch\.yaml has unknown keys: targets\.\n.*file of targets.*--project-root/);
});

t.test("an address that another program listens on is named, with the option", async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const cwd = t.testdir({});
  const { code, stderr } = await run("hub-serve", ["--listen", `127.0.0.1:${port}`, "--data-dir", "hub"], { cwd });
  t.equal(code, 2);
  t.match(stderr, new RegExp(`Cannot listen on 127\\.0\\.0\\.1:${port}: another program listens there\\.\n.*--listen`));
});

t.test("--archive FOLDER is a usage error without a stack", async (t) => {
  const cwd = t.testdir({ folder: {} });
  const env = { SEALIFT_HUB_URL: "http://127.0.0.1:9", SEALIFT_API_KEY: "k", SEALIFT_SIGNING_SECRET: "s".repeat(16) };
  const { code, stderr } = await sealift("marketplace publish tides --version 1.0.0 --archive folder", { cwd, env });
  t.equal(code, 2);
  t.match(stderr, /^error \(usage\): --archive folder is a folder\.\n.*ZIP.*\n$/);
});

t.test("a request for a target that nothing watches is refused, with the one that was meant", async (t) => {
  const cwd = t.testdir({ ".sealift": { state: { "watch-plugin-tides.json": "{}" } } });
  const refused = await sealift("watch pause plugin:tide", { cwd });
  t.equal(refused.code, 2);
  t.match(refused.stderr, /plugin:tide was never deployed or watched.*\n.*Did you mean plugin:tides/);
  t.equal((await sealift("watch pause plugin:tides", { cwd })).code, 0);
});

t.test("plan validate says in which line a fault is", async (t) => {
  const plan = [
    "version: 1",
    "project_id: tides",
    "steps:",
    "  - id: one",
    "    action: instal_plugin",
    "    colour: red",
  ];
  const cwd = t.testdir({ "install.yaml": plan.join("\n") });
  const { code, stderr } = await sealift("plan validate install.yaml", { cwd });
  t.equal(code, 2);
  t.match(stderr, /steps\[one\].*\(line [45]\)/);
  t.notMatch(stderr, /--install-plan|plan validate/);
});

t.test("a working folder that was removed is said, without a stack", async (t) => {
  const cwd = t.testdir({ gone: {} });
  const program = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));
  const typed = `cd ${cwd}/gone && rmdir ${cwd}/gone && exec ${process.execPath} ${program} status`;
  const { status, stderr } = spawnSync("sh", ["-c", typed], { encoding: "utf8" });
  t.equal(status, 2);
  t.match(stderr, /^error \(usage\): The working folder is gone/);
});

t.test("plan validate warns of a check that would see the version before", async (t) => {
  const steps =
    "  - {id: put, action: install_plugin, plugin: tides}\n  - {id: ok, action: healthcheck, plugin: tides}\n";
  const plan = `format_version: "1"\nproject_id: tides\nversion: "1"\nsteps:\n${steps}`;
  const cwd = t.testdir({ "install.yaml": plan });
  const { code, stderr } = await sealift("plan validate install.yaml", { cwd });
  t.equal(code, 0);
  t.match(stderr, /warning: The step ok checks tides/);
});

t.test("a folder that cannot be made is a mistake of usage, and is not tried for ever", async (t) => {
  const lines = ["signer create --out", "plugin init tides --directory", "systemd install hub --root"];
  // Node's own recursive mkdir never ends below /proc.
  for (const line of lines) {
    const { code, stderr } = await sealift(`${line} /proc/none/folder`);
    t.equal(code, 2, line);
    t.match(stderr.replaceAll(/\s+/g, " "), /error \(usage\): A folder cannot be made: .*'\/proc\/none/);
  }
});
