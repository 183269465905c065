import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { needs } from "../support/programs/optional.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../dist/bin/sealift.js", import.meta.url));
const environment = { PATH: process.env.PATH };

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
      "signing-key",
      "yank",
    ]);
    t.strictSame(await complete("sealift", "marketplace", "publish", "--sign"), [
      "--signing-secret",
      "--signing-secret-file",
    ]);
    t.strictSame((await complete("sealift", "projects", "create", "Tides", "--kind", "")).toSorted(), [
      "plugin",
      "project",
      "service",
    ]);
    t.strictSame((await complete("sealift", "watch", "re")).toSorted(), ["redeploy", "resume", "retry"]);
    t.strictSame((await complete("sealift", "watch", "plugin:tides", "--no-")).toSorted(), ["--no-delta", "--no-tui"]);
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

t.test("bash: values behind an equals sign are completed, and free values are left to files", async (t) => {
  const complete = shells["bash"]!(await scriptFile(t, "bash"));
  t.strictSame(await complete("sealift", "deploy-project", "--supervisor", "=", "dock"), ["docker"]);
  t.strictSame(await complete("sealift", "deploy-project", "--supervisor", "="), [
    "none",
    "runtime",
    "systemd",
    "docker",
    "kubernetes",
  ]);
  t.strictSame(await complete("sealift", "deploy-project", "--project-root", ""), []);
});

t.test("a shell that nobody knows is refused", async (t) => {
  const ended = spawnSync(process.execPath, [PROGRAM, "completion", "tcsh", "--json"], {
    env: environment,
    encoding: "utf8",
  });
  t.equal(ended.status, 2);
  t.match(JSON.parse(ended.stdout), { event: "result", error: { code: "usage", message: /bash, zsh, fish/ } });
});
