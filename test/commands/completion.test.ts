// Only in test:all: shells complete whole lines.
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { answerFile, isFirstToAsk, keepAnswer, readAnswer } from "../../commands/shell/completion/answers.ts";
import { candidates } from "../../commands/shell/completion/candidates.ts";
import { specOf } from "../../commands/shell/completion/question.ts";
import { allCommandFacts } from "../../commands/shell/facts.ts";
import { COMMANDS } from "../../commands/shell/registry.ts";
import { writeContexts } from "../../lib/options/contexts.ts";
import { createProject, startHub } from "../support/hub/harness.ts";
import { publishedArchive } from "../support/hub/published.ts";
import { needs } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));
const environment: NodeJS.ProcessEnv = { PATH: process.env.PATH };

async function scriptFile(t: Test, shell: string): Promise<string> {
  const { stdout } = await run(process.execPath, [PROGRAM, "completion", shell], { env: environment });
  const file = join(t.testdir({ empty: {} }), `completion.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

/** Asks a real shell what may stand in place of the last word. */
type Complete = (...words: string[]) => Promise<string[]>;

const shells: Record<string, (script: string) => Complete> = {
  bash:
    (script) =>
    async (...words) => {
      const code = `source ${script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sealift "$1"; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return lines((await run("bash", ["--norc", "-c", code, "bash", ...words], { env: environment })).stdout);
    },
  // compsys works inside of the line editor only: what the function hands to it is printed instead.
  zsh:
    (script) =>
    async (...words) => {
      const code = `compdef() {}; _files() {}; compadd() { print -l -- \${(P)2}; }
        _describe() { print -l -- \${\${(P)@[-1]}%%:*}; }
        source ${script}; words=("$@"); CURRENT=$#; _sealift`;
      const { stdout } = await run("zsh", ["-f", "-c", code, "zsh", ...words], { env: environment });
      return lines(stdout).filter((word) => word.startsWith(words.at(-1)!));
    },
  fish:
    (script) =>
    async (...words) => {
      const code = `source ${script}; complete -C "${words.join(" ")}"`;
      const { stdout } = await run("fish", ["--no-config", "-c", code], {
        env: environment,
        cwd: join(script, "..", "empty"),
      });
      return lines(stdout).map((line) => line.split("\t")[0]!);
    },
};

const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "");

for (const [shell, completeWith] of Object.entries(shells)) {
  const missing = shell !== "bash" && needs(shell as "zsh" | "fish");
  t.test(`${shell}: words, options and their values are completed`, { skip: missing }, async (t) => {
    const complete = completeWith(await scriptFile(t, shell));
    t.strictSame(await complete("sealift", "mark"), ["marketplace"]);
    t.strictSame((await complete("sealift", "marketplace", "")).toSorted(), [
      "deploy",
      "publish",
      "search",
      "sign",
      "signing-key",
    ]);
    t.strictSame((await complete("sealift", "marketplace", "publish", "--sign")).toSorted(), [
      "--signing-key-file",
      "--signing-secret",
      "--signing-secret-file",
    ]);
    t.strictSame((await complete("sealift", "project", "create", "Tides", "--kind", "")).toSorted(), [
      "plugin",
      "project",
      "service",
    ]);
    t.strictSame((await complete("sealift", "watch", "re")).toSorted(), ["redeploy", "resume", "retry"]);
    t.strictSame((await complete("sealift", "watch", "plugin:tides", "--no-")).toSorted(), [
      "--no-delta",
      "--no-hints",
      "--no-log-in-reports",
      "--no-tui",
    ]);
  });

  t.test(`${shell}: a program with one role is completed as its command`, { skip: missing }, async (t) => {
    const complete = completeWith(await scriptFile(t, shell));
    t.strictSame(await complete("deploy-project", "--deploy"), [
      "--deployment-credential",
      "--deployment-credential-file",
    ]);
    t.strictSame(await complete("deploy-watch", "pau"), ["pause"]);
    t.strictSame(await complete("deploy-marketplace", "tides", "--symlinks", "re"), ["refuse"]);
  });
}

/** A project root with two kept releases of a plugin, and a `sealift` for the shells to ask. */
function hostWithReleases(t: Test) {
  const folder = temporaryFolder(t);
  const root = join(folder, "root");
  for (const [second, version] of ["1.0.0", "1.1.0"].entries()) {
    const release = join(root, ".sealift/releases/plugin-tides", `r${second}`);
    mkdirSync(release, { recursive: true });
    const record = { version, identity: null, items: [], content_sha256: null };
    const json = JSON.stringify({ v: 1, ...record, created_at: `2026-01-01T00:00:0${second}.000Z` });
    writeFileSync(join(release, "release.json"), json);
  }
  writeFileSync(join(folder, "sealift"), `#!/bin/sh\nexec ${process.execPath} ${PROGRAM} "$@"\n`, { mode: 0o755 });
  return { root, programs: folder };
}

for (const [shell, completeWith] of Object.entries(shells)) {
  const missing = shell !== "bash" && needs(shell as "zsh" | "fish");
  t.test(`${shell}: targets of this host are completed`, { skip: missing }, async (t) => {
    const script = await scriptFile(t, shell);
    const { root, programs } = hostWithReleases(t);
    const before = { ...environment };
    Object.assign(environment, { PATH: `${programs}:${environment.PATH}`, SEALIFT_PROJECT_ROOT: root });
    t.teardown(() => {
      for (const name of Object.keys(environment)) delete environment[name];
      Object.assign(environment, before);
    });
    const complete = completeWith(script);
    t.strictSame(await complete("sealift", "rollback", "pl"), ["plugin:tides"]);
    t.strictSame(await complete("sealift", "rollback", "--dry-run", "plugin:tides", "--to", "1.1"), ["1.1.0"]);
    t.ok((await complete("sealift", "watch", "p")).includes("plugin:tides"), "beside the words that go on");
    if (shell !== "bash") return;
    t.strictSame(await complete("sealift", "rollback", "plugin", ":", "ti"), ["tides"], "as bash takes it apart");
    t.strictSame(await complete("sealift", "rollback", "plugin", ":"), ["tides"]);
    t.strictSame(await complete("sealift", "rollback", "tides", "--to", "=", "1.0"), ["1.0.0"]);
  });
}

t.test("bash: values behind an equals sign are completed, and free values are left to files", async (t) => {
  const complete = shells["bash"]!(await scriptFile(t, "bash"));
  t.strictSame(await complete("sealift", "deploy-project", "--supervisor", "=", "dock"), ["docker"]);
  t.strictSame(await complete("sealift", "deploy-project", "--supervisor", "="), [
    "none",
    "runtime",
    "systemd",
    "docker",
  ]);
  t.strictSame(await complete("sealift", "deploy-project", "--project-root", ""), []);
});

t.test("what a hub and this host know is offered, from memory for a minute, and silently", async (t) => {
  const folder = temporaryFolder(t);
  const hub = await startHub(t, { rateLimits: false });
  const tides = await publishedArchive(hub, "plugin", "tides", folder);
  for (const version of ["1.0.0", "1.1.0"]) await tides.publish(version);
  const project = await createProject(hub, ["read"]);
  const report = { kind: "plugin", slug: "tides", version: "1.1.0", status: "success", host_id: "host-1" };
  const times = { started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:01Z" };
  await hub.call("POST", "/app/deployments/deployments/report", { json: { ...report, ...times } });
  const silent = createServer().listen(0, "127.0.0.1");
  t.teardown(() => silent.close());
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const settings = { XDG_CACHE_HOME: join(folder, "cache"), XDG_CONFIG_HOME: join(folder, "config") };
  t.intercept(process, "env", {
    value: { ...process.env, ...settings, SEALIFT_PROJECT_ROOT: folder, SEALIFT_API_KEY: "" },
  });
  await writeContexts({
    ...{ v: 1, current: "here" },
    contexts: {
      silent: { hub_url: `http://127.0.0.1:${port}`, api_key: "k" },
      here: { hub_url: hub.url, api_key: hub.adminKey },
      there: { hub_url: "http://127.0.0.1:9", api_key: "k" },
    },
  });
  const facts = allCommandFacts(COMMANDS);
  const limit = new AbortController();
  t.teardown(() => limit.abort());
  const patiently = () => sleep(10_000, undefined, { signal: limit.signal }).catch(() => {});
  const ask = async (line: string, deadline = patiently): Promise<string[]> => {
    const [command, ...words] = line.split(" ");
    const { options, positionals, paths } = facts.find((each) =>
      each.paths.some((path) => path.join("-") === command),
    )!;
    return (await candidates(specOf({ options, positionals, paths }), words, { deadline })).found;
  };
  t.strictSame(await ask("context-use "), ["here", "silent", "there"]);
  t.strictSame(await ask("fleet-wait --context t"), ["there"]);
  t.strictSame(await ask("version-list "), ["plugin:tides", `project:${project.id}`]);
  t.strictSame(await ask("project-deploy --project-id p"), [project.id]);
  t.strictSame(await ask("marketplace-deploy t"), ["tides"]);
  t.strictSame(await ask("fleet-forget plugin:tides "), ["host-1"]);
  for (const line of ["version-yank tides ", "marketplace-deploy tides --version "])
    t.strictSame(await ask(line), ["1.0.0", "1.1.0"], line);
  t.strictSame(await ask("fleet-wait --context there "), [], "of a hub that is away nothing is said");
  t.strictSame(await ask("marketplace-publish tides --version "), [], "a version that is yet to be");

  await tides.publish("1.2.0");
  t.strictSame(await ask("version-yank tides "), ["1.0.0", "1.1.0"], "the answer of a moment ago");
  t.strictSame(await ask("version-yank tides "), ["1.0.0", "1.1.0"]);
  const now = performance.now();
  t.strictSame(await ask("grant-list --context silent ", () => sleep(50)), [], "a hub that says nothing in time");
  t.ok(performance.now() - now < 2000);
});

t.test("an answer that comes late is there at the next Tab, and stands in for a hub that is away", async (t) => {
  const folder = temporaryFolder(t);
  let delay = 1000;
  let requests = 0;
  const hub = createHttpServer((_request, response) => {
    requests += 1;
    const project = { id: "plg_0", kind: "plugin", slug: "tides", name: "Tides", created_at: "2026-01-01T00:00:00Z" };
    const page = { items: [{ ...project, latest_version: null }], next: null };
    setTimeout(() => response.setHeader("content-type", "application/json").end(JSON.stringify(page)), delay).unref();
  }).listen(0, "127.0.0.1");
  t.teardown(() => hub.close());
  await once(hub, "listening");
  const env = {
    ...environment,
    ...{ XDG_CACHE_HOME: join(folder, "cache"), XDG_CONFIG_HOME: join(folder, "config") },
    ...{ SEALIFT_HUB_URL: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`, SEALIFT_API_KEY: "k" },
  };
  const tab = async () => lines((await run(process.execPath, [PROGRAM, "__complete", "slugs", ""], { env })).stdout);
  const answers = join(folder, "cache/sealift/completion");
  const kept = async () => (await readdir(answers).catch(() => [])).filter((name) => name.endsWith(".json"));
  t.strictSame(await tab(), [], "nobody waits for a second");
  await until(async () => (await kept()).length !== 0);
  t.strictSame(await tab(), ["tides"]);
  const [name] = await kept();
  t.equal((await stat(answers)).mode & 0o777, 0o700);
  t.equal((await stat(join(answers, name!))).mode & 0o777, 0o600);

  const written = JSON.parse(await readFile(join(answers, name!), "utf8")) as { at: number };
  const aged = (ms: number) => writeFile(join(answers, name!), JSON.stringify({ ...written, at: Date.now() - ms }));
  delay = 60_000;
  await aged(120_000);
  t.strictSame(await tab(), ["tides"], "a hub that is late again");
  await aged(3_600_000);
  t.strictSame(await tab(), [], "of long ago");
  t.ok(requests < 10);
});

t.test("answers of hubs are few, and old ones are removed", async (t) => {
  const folder = temporaryFolder(t);
  t.intercept(process, "env", { value: { ...process.env, XDG_CACHE_HOME: folder } });
  const old = answerFile(["old"]);
  await keepAnswer(old, ["a"]);
  await utimes(old, 0, 0);
  for (let count = 0; count < 80; count += 1) await keepAnswer(answerFile([count]), ["a"]);
  const names = await readdir(dirname(old));
  t.ok(names.length <= 65);
  t.notOk(names.includes(basename(old)));
  t.strictSame(await readAnswer(answerFile([79])), { words: ["a"], isFresh: true });
  t.ok(await isFirstToAsk(old));
  t.notOk(await isFirstToAsk(old), "one process goes on with a question");
});

t.test("a shell that nobody knows is refused", async (t) => {
  const ended = spawnSync(process.execPath, [PROGRAM, "completion", "tcsh", "--json"], {
    env: environment,
    encoding: "utf8",
  });
  t.equal(ended.status, 2);
  t.match(JSON.parse(ended.stdout), { event: "result", error: { code: "usage", message: /bash, zsh, fish/ } });
});
