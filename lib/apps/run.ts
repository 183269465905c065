import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import type { Writable } from "node:stream";
import { applicationPaths } from "../releases/applications.ts";
import type { Layout } from "../releases/layout.ts";
import { recordRun } from "../releases/runs.ts";
import { makeMember, type MemberGroup } from "../support/control-groups/member-groups.ts";
import { groupOwner, MARK_VARIABLE, markOf } from "./environment.ts";
import { GUARD_ENVIRONMENT, guardedTyped, setpriv, typedStatementsOf } from "./guard.ts";
import { launchValue } from "./launch-value.ts";
import { endLeftovers, markFile, readMark } from "./leftovers.ts";
import { unlimitedText } from "./limits.ts";
import { LogFile } from "./log-file.ts";
import { GONE_LIMIT_MS } from "./membership.ts";
import { ServeFault } from "./serve-fault.ts";
import { readSetting, type Setting } from "./setting.ts";

/**
 * Ends what a run has started when whoever runs it is killed: then its standard input ends without a word. The group,
 * its control group if it has one, and whatever has the mark.
 */
const REAPER = `read -r word && exit 0
kill -KILL -- "-$1" 2>/dev/null
if [ -n "$2" ]; then
  echo 1 > "$2/cgroup.kill" 2>/dev/null
  for again in 1 2 3 4 5; do rmdir "$2" 2>/dev/null && break; sleep 0.1; done
fi
for at in /proc/[0-9]*; do
  if tr '\\0' '\\n' 2>/dev/null < "$at/environ" | grep -qxF -- "$3" 2>/dev/null; then kill -KILL "\${at#/proc/}"; fi
done`;

/** Signals that are passed on to a run. */
const PASSED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"] as const;

/** Options of {@link runTyped}. */
export interface RunOptions {
  id: string;
  words: readonly string[];
  /** Tells a person something about the run, before it begins. */
  note: (text: string) => void;
  /** Called before its program is started: what is thrown later has had effects. */
  begins?: () => void;
}

/**
 * Runs words as an application of `app serve` runs: as its user, in its folder, with its settings, data and limits, and
 * with this process's terminal or pipes. Signals are passed on; whatever the run has started ends with it.
 *
 * @returns its exit code; 128 and its number for a signal
 * @throws ServeFault
 */
export async function runTyped(layout: Layout, { id, words, note, begins }: RunOptions): Promise<number> {
  using signals = passedOn();
  // Its processes are none of the application's: nobody starts it here.
  const running = await readMark(markFile(layout, id));
  const { setting, record } = await recordedSetting(layout, id, running?.uid);
  await using _record = record;
  const { app, user, membership, folder } = setting;
  const mark = await markOf(layout.root, id);
  const own = { ...mark, value: `${mark.value}+run-${process.pid}`, former: `${mark.value}+run-${process.pid}` };
  const shared = app.of ?? id;
  if (membership.kind === "user") note(`note: it ends when ${shared} is restarted, whose user tells its processes.`);
  const group = await groupOf(setting, mark.key, running?.pid);
  const { environment, entrance, unenforced } = await launchValue(layout, id, setting, { group, mark: own.value });
  if (unenforced.length > 0) note(`note: ${unlimitedText(unenforced)}.`);
  const { file, args, ids } = guardedTyped(words, join(dirname(folder), shared), user, entrance);
  begins?.();
  const child = spawn(file, args, {
    ...{ cwd: "/", env: GUARD_ENVIRONMENT, detached: true, ...(ids ?? {}) },
    stdio: ["inherit", "inherit", "inherit", "pipe"],
  });
  const { ended } = await begun(child);
  signals.to(child.pid!);
  const told = child.stdio[3] as Writable;
  told.on("error", () => undefined).end(typedStatementsOf(environment));
  const reaper = reap(child.pid!, group?.folder ?? "", `${MARK_VARIABLE}=${own.value}`);
  const log = new LogFile(applicationPaths(layout, id).logs, Infinity);
  log.remark(`a run begins as process ${child.pid}, user ${user.name}`);
  const code = await ended;
  if (group === undefined) await endLeftovers(join(layout.sealift, "runs", "none"), own, undefined);
  // No other user leaves a group of root: nobody else has to be looked for.
  else if ((await group.end(GONE_LIMIT_MS)).length === 0) await group.remove();
  reaper.stdin!.end("over\n");
  log.remark(`the run as process ${child.pid} ended with exit code ${code}`);
  await new Promise<void>((resolve) => log.end(resolve));
  return code;
}

/** Reads a setting, and records that its release is in use before somebody can remove it. @throws ServeFault */
async function recordedSetting(
  layout: Layout,
  id: string,
  ranAlone: number | undefined,
): Promise<{ setting: Setting; record: AsyncDisposable }> {
  const found = { members: undefined, reason: "it is a run" };
  let setting = await readSetting(layout, id, { found, ranAlone });
  for (;;) {
    const { target, release } = setting;
    await using held = new AsyncDisposableStack();
    held.use(await recordRun(layout, target, release));
    setting = await readSetting(layout, id, { found, ranAlone });
    if (setting.release === release && setting.target === target) return { setting, record: held.move() };
  }
}

/**
 * Makes a control group for one run, where this process may make one and somebody but its user hands processes over:
 * beside that of the application, whose limits count there, or else below this process's own.
 *
 * @param pid of the application, if it runs
 */
async function groupOf({ user }: Setting, key: string, pid: number | undefined): Promise<MemberGroup | undefined> {
  if (user.ids === undefined || setpriv() === undefined) return undefined;
  const name = `sealift-run-${key}-${process.pid}`;
  const beside = pid === undefined ? undefined : { pid, owner: groupOwner(key) };
  return (beside && (await makeMember(name, beside))) ?? makeMember(name);
}

/** Waits until a program is started. @returns the wait for its exit code @throws ServeFault `start_failed` */
async function begun(child: ChildProcess): Promise<{ ended: Promise<number> }> {
  const ended = new Promise<number>((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal!])),
  );
  const failed = await new Promise<Error | undefined>((resolve) => {
    child.once("error", resolve);
    child.once("spawn", () => resolve(undefined));
  });
  if (failed !== undefined)
    throw new ServeFault("start_failed", `The program could not be started: ${failed.message}.`);
  return { ended };
}

function reap(pid: number, group: string, mark: string): ChildProcess {
  const reaper = spawn("/bin/sh", ["-c", REAPER, "sh", String(pid), group, mark], {
    ...{ cwd: "/", env: GUARD_ENVIRONMENT, detached: true, stdio: ["pipe", "ignore", "ignore"] },
  });
  reaper.on("error", () => undefined);
  reaper.stdin.on("error", () => undefined);
  reaper.unref();
  return reaper;
}

/** Keeps the signals of this process for a group, from now on. */
function passedOn(): Disposable & { to: (pid: number) => void } {
  const waiting: NodeJS.Signals[] = [];
  let group: number | undefined;
  const pass = (name: NodeJS.Signals): void => {
    if (group === undefined) return void waiting.push(name);
    try {
      process.kill(-group, name);
    } catch {
      // It has just ended.
    }
  };
  for (const name of PASSED) process.on(name, pass);
  return {
    to(pid) {
      group = pid;
      for (const name of waiting) pass(name);
    },
    [Symbol.dispose]() {
      for (const name of PASSED) process.off(name, pass);
    },
  };
}
