/** The built programs on a machine that lacks something: a disk that is full, few descriptors, a clock that jumps. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, fsyncSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { temporaryFolder } from "../temporary-folder.ts";
import { mountMemory } from "./loop-file-system.ts";

export const DAY_MS = 24 * 60 * 60 * 1000;

/** For tap's `skip`: whether this machine lets a test mount and limit. */
export const cannotStarve =
  process.getuid?.() !== 0
    ? "only root can mount"
    : spawnSync("prlimit", ["--version"]).status !== 0 && "needs prlimit";

/** A small file system of its own, that can be filled and made read-only. */
export interface SmallDisk {
  folder: string;
  /** Fills it but for so many bytes. */
  fill(left?: number): void;
  /** Takes away what filled it. */
  free(): void;
  setReadOnly(isReadOnly: boolean): void;
}

export function smallDisk(t: Test, bytes: number): SmallDisk {
  const mounted = mountMemory(t, bytes);
  if ("reason" in mounted) throw new Error(mounted.reason);
  const { folder } = mounted;
  // A sandboxed plugin runs as another user.
  chmodSync(dirname(folder), 0o755);
  const ballast = (number: number): string => join(folder, `.ballast-${number}`);
  return {
    folder,
    fill: (left = 0) => {
      writeFileSync(ballast(1), Buffer.alloc(left));
      const file = openSync(ballast(0), "w");
      try {
        for (const piece of [65_536, 4096, 1]) for (;;) writeSync(file, Buffer.alloc(piece));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
      fsyncSync(file);
      closeSync(file);
      rmSync(ballast(1));
    },
    free: () => rmSync(ballast(0), { force: true }),
    setReadOnly: (isReadOnly) =>
      void execFileSync("mount", ["-o", `remount,${isReadOnly ? "ro" : "rw"}`, folder], { stdio: "pipe" }),
  };
}

/**
 * Makes a folder one that can only be read, also for root, until it is disposed of. Files that are open stay as they
 * are.
 */
export function readOnlyFolder(folder: string): Disposable {
  execFileSync("mount", ["--bind", folder, folder], { stdio: "pipe" });
  execFileSync("mount", ["-o", "remount,bind,ro", folder], { stdio: "pipe" });
  return { [Symbol.dispose]: () => void execFileSync("umount", ["--lazy", folder], { stdio: "pipe" }) };
}

/** A wall clock that programs can be started with. */
export interface Clock {
  /** Sets it off from the real time, from now on also for programs that run. */
  set(offsetMs: number): void;
  env: Record<string, string>;
}

const PRELOADED = fileURLToPath(new URL("../programs/moved-clock-program.ts", import.meta.url));

export function movedClock(t: Test, offsetMs = 0): Clock {
  const file = join(temporaryFolder(t), "offset");
  writeFileSync(file, String(offsetMs));
  return {
    set: (offset) => writeFileSync(file, String(offset)),
    env: { MOVED_CLOCK: file, NODE_OPTIONS: `--import=${PRELOADED}` },
  };
}

interface Starving {
  cwd: string;
  env?: Record<string, string>;
  clock?: Clock;
  /** Files, sockets and pipes that it may have open. */
  descriptors?: number;
}

export interface StarvedProgram {
  child: ChildProcess;
  /** Resolves with the exit code when it has ended and all that it said was read. */
  ended: Promise<number | null>;
  stdout(): string;
  stderr(): string;
  /** Resolves with the first match in standard output, also in what came before. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  /** Lets it open nothing more, until it is disposed of. */
  withoutDescriptors(): Disposable;
  /** Ends it by SIGTERM. @returns its exit code */
  stop(): Promise<number | null>;
}

/** Starts one of the built programs; it ends with the test. */
export function startStarved(t: Test, name: string, args: readonly string[], options: Starving): StarvedProgram {
  const { cwd, env = {}, clock, descriptors } = options;
  const program = fileURLToPath(new URL(`../../../dist/bin/${name}.js`, import.meta.url));
  const limit = descriptors === undefined ? [] : ["prlimit", `--nofile=${descriptors}`];
  const [file, ...rest] = [...limit, process.execPath, program, ...args] as [string, ...string[]];
  const child = spawn(file, rest, {
    cwd,
    env: { PATH: process.env["PATH"], ...clock?.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => (said.stdout += `${line}\n`));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]) => code as number | null);
  // Its disk cannot be taken away before it has ended.
  t.teardown(() => {
    child.kill("SIGKILL");
    return ended;
  });
  return {
    child,
    ended,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    said: async (pattern) => {
      const closed = ended.then(() => true);
      for (;;) {
        const match = pattern.exec(said.stdout);
        if (match !== null) return match;
        const isOver = await Promise.race([closed, once(lines, "line").then(() => false)]);
        if (isOver && !pattern.test(said.stdout)) throw new Error(`${name} ended before ${pattern}: ${said.stderr}`);
      }
    },
    withoutDescriptors: () => {
      const limit = (soft: string) =>
        execFileSync("prlimit", [`--pid=${child.pid}`, `--nofile=${soft}:`], { stdio: "pipe" });
      limit("3");
      return { [Symbol.dispose]: () => void limit("1024") };
    },
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}
