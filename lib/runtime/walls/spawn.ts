import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Duplex } from "node:stream";
import type { ControlGroup } from "../../support/control-groups/control-group.ts";
import type { SandboxUser } from "../base/user.ts";
import { type Enclosed, FILTER_FD, INFO_FD, type Program } from "./wall.ts";

/** Most characters of the JSON that a wall writes about its child; the rest is ignored. */
const MAX_INFO = 4096;

/**
 * Starts a program with a channel on descriptor 3, and with whatever an enclosing wall needs. Its environment is empty,
 * since `/proc` exposes it. It has a session of its own, so that it can be killed as a group, and the terminal's
 * signals do not reach it.
 *
 * @param group control group of the program, which first waits for a line on its standard input
 * @throws Error when the kernel does not add it to its group
 */
export function spawnEnclosed(
  program: Program | Enclosed,
  { cwd, user, group }: { cwd: string; user: SandboxUser | undefined; group?: ControlGroup | undefined },
): ChildProcess {
  const filter = "filter" in program ? (program.filter ?? "") : undefined;
  const hasChild = "process" in program && program.process === "child";
  const filterAt = typeof filter === "number" ? filter : "pipe";
  const child = spawn(program.file, program.arguments, {
    stdio: [
      ...([group ? "pipe" : "ignore", "pipe", "pipe", "pipe"] as const),
      ...(filter === undefined ? [] : ([hasChild ? "pipe" : "ignore", filterAt] as const)),
    ],
    env: {},
    cwd,
    detached: true,
    ...(user && { uid: user.uid, gid: user.gid }),
  });
  child.on("error", () => undefined);
  for (const stream of child.stdio) stream?.on("error", () => undefined);
  if (filter !== undefined && typeof filter !== "number")
    ((child.stdio as readonly unknown[])[FILTER_FD] as Duplex).end(filter);
  if (group && child.pid !== undefined) {
    try {
      group.add(child.pid);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
    child.stdin?.end("\n");
  }
  return child;
}

/** Resolves with the host's process id of the enclosed program; with `undefined` if the wall ended without it. */
export function enclosedPid(child: ChildProcess): Promise<number | undefined> {
  const info = child.stdio[INFO_FD] as Duplex;
  let text = "";
  return new Promise((resolve) => {
    // The wall writes more than once: the stream is read to its end, whatever it says.
    info.on("data", (chunk: Buffer) => {
      if (text.length < MAX_INFO) text += chunk.toString("latin1");
      const pid = /"child-pid": *(\d+)\D/.exec(text)?.[1];
      if (pid !== undefined) resolve(Number(pid));
    });
    info.once("close", () => resolve(undefined));
  });
}

/** Returns the signal that ended the enclosed program. Walls report it in their exit code, as shells do. */
export function signalOf(code: number | null): NodeJS.Signals | null {
  const found = Object.entries(constants.signals).find(([, number]) => code === 128 + number);
  return (found?.[0] as NodeJS.Signals | undefined) ?? null;
}
