import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { renameSync, rmSync, symlinkSync } from "node:fs";
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError } from "../contract/errors.ts";
import type { Layout } from "./layout.ts";
import { forChildren } from "./open-folder.ts";

/** Numbers of the system call renameat2, by processor. */
const RENAMEAT2: Partial<Record<NodeJS.Architecture, number>> = { x64: 316, arm64: 276, riscv64: 276 };

/**
 * Perl program that calls renameat2 with AT_FDCWD twice and the flag RENAME_EXCHANGE: exit code 0 when the two names
 * were exchanged.
 */
const PERL = "exit(syscall($ARGV[0], -100, $ARGV[1], -100, $ARGV[2], 2) == 0 ? 0 : 1)";

/** Command that waits for a line before it runs a program: a run killed before that exchanges nothing. */
const WHEN_TOLD = ["-c", 'read -r go && exec "$@"', "sh"];
/** Variable of that program for as long as it runs: the project root whose names it exchanges. */
const MARK = "SEALIFT_EXCHANGES_IN";
/** Time limit for the program of a killed run to end, in milliseconds. */
const LATE_LIMIT_MS = 30_000;
const LATE_POLL_MS = 10;

/**
 * Exchanges a folder and a link in one step, so that both names lead somewhere at every instant. Linux can (renameat2
 * with RENAME_EXCHANGE), but Node has no call for it, so `mv --exchange` (coreutils 9.5) or perl does it.
 *
 * Without either, two renames follow each other directly: the folder's name is missing between them for some
 * microseconds, or until the next run if the process is killed right there. Nothing else differs.
 *
 * @param folder path of a folder, to be replaced by the link
 * @param link path of a link, to be replaced by the folder
 */
export async function exchangePaths(layout: Layout, folder: string, link: string): Promise<void> {
  const names = [forChildren(folder), forChildren(link)];
  const env = { PATH: process.env.PATH, LC_ALL: "C", [MARK]: await markOf(layout) };
  if (await succeeds(["mv", "--exchange", "--no-target-directory", "--", ...names], env)) return;
  const number = process.platform === "linux" ? RENAMEAT2[process.arch] : undefined;
  if (number !== undefined && (await succeeds(["perl", "-e", PERL, String(number), ...names], env))) return;
  const text = await readlink(link);
  const prepared = join(dirname(folder), `.link-${randomBytes(6).toString("hex")}`);
  symlinkSync(text, prepared);
  rmSync(link);
  renameSync(folder, link);
  renameSync(prepared, folder);
}

function succeeds(command: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn("sh", [...WHEN_TOLD, ...command], { stdio: ["pipe", "ignore", "ignore"], env });
  child.once("error", () => resolve(false));
  child.once("close", (code) => resolve(code === 0));
  child.stdin.on("error", () => {});
  child.stdin.end("go\n");
  return promise;
}

/**
 * Waits until no program of a killed run exchanges names of this project root any more: it outlives its run, and would
 * undo the exchange of the next one. Requires the lock of the root.
 *
 * @throws DeploymentError `root_busy` when one does not end
 */
export async function exchangesEnded(layout: Layout): Promise<void> {
  const mark = `${MARK}=${await markOf(layout)}`;
  const end = performance.now() + LATE_LIMIT_MS;
  // A process that is just executing another program has no variables for an instant, so it is looked for twice.
  for (let free = 0; free < 2;) {
    const pid = await markedProcess(mark);
    free = pid === undefined ? free + 1 : 0;
    if (pid === undefined) continue;
    if (performance.now() > end)
      throw deploymentError("root_busy", `The process ${pid} of a killed deployment still moves a folder.`, {
        hint: "Wait until it has ended, or end it, and run the command again.",
      });
    await sleep(LATE_POLL_MS);
  }
}

/** Returns the project root under a name that is the same for all processes, whatever path leads there. */
async function markOf(layout: Layout): Promise<string> {
  const { dev, ino } = await stat(layout.sealift);
  return `${dev}:${ino}`;
}

async function markedProcess(mark: string): Promise<string | undefined> {
  const pids = process.platform === "linux" ? await readdir("/proc") : [];
  for (const pid of pids) {
    if (!/^\d+$/.test(pid)) continue;
    const variables = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
    if (variables.split("\0").includes(mark)) return pid;
  }
  return undefined;
}
