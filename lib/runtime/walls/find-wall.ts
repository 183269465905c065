import type { ChildProcess } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Integration } from "../../contract/files/integration.ts";
import { settledWithin } from "../../support/within.ts";
import type { SandboxUser } from "../base/user.ts";
import { messageOf } from "../guest/fault.ts";
import { bubblewrap } from "./bubblewrap.ts";
import { LandlockWall } from "./landlock.ts";
import { spawnEnclosed } from "./spawn.ts";
import type { Enclosed, Program, Wall } from "./wall.ts";

/** Finds out by trying which wall this host can build. */

export type WallPolicy = "required" | "preferred" | "off";

/** Wall, or the reason why this host has none. */
export type FoundWall = { wall: Wall } | { wall: undefined; reason: string; waived?: boolean };

/** Time limit of a trial, which starts `node --version`, in milliseconds. */
const TRIAL_MS = 10_000;

/** Returns the policy of the configuration; without one, production requires a wall. */
export const wallPolicyOf = ({ app, plugins }: Integration): WallPolicy =>
  plugins.sandbox.wall ?? (app.env === "production" ? "required" : "preferred");

function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

type Start = (program: Program | Enclosed) => ChildProcess;

/** Waits for a program. Resolves with what it printed. @throws Error with what went wrong */
async function outputOf(child: ChildProcess): Promise<string> {
  let [output, complaint] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (!(await settledWithin(ended, TRIAL_MS))) child.kill("SIGKILL");
  const code = await ended;
  // The line after a complaint may advise reading the manual.
  const lines = complaint
    .trim()
    .split("\n")
    .filter((line) => !line.startsWith("Try "));
  if (code !== 0) throw new Error(lines.at(-1) || `it ended with ${code ?? "a signal"}`);
  return output;
}

/** Builds a wall around `node --version`. @throws Error with what went wrong */
async function tryOut(wall: Wall, { start }: Trial): Promise<Wall> {
  try {
    const view = { reads: [], writes: [], cwd: "/", network: "none", scratchMb: 1 } as const;
    await outputOf(start(wall.enclose({ file: process.execPath, arguments: ["--version"] }, view)));
    return wall;
  } catch (error) {
    wall[Symbol.dispose]();
    throw error;
  }
}

interface Trial {
  start: Start;
  /** User of sandboxes, if different from the runtime's. */
  user: SandboxUser | undefined;
}

const isRoot = (): boolean => process.getuid?.() === 0;

/** One way to build a wall: a program, and how to call it. */
interface WallProvider {
  name: string;
  program: string;
  package: string;
  /** Builds the wall. @throws Error when this host does not allow it */
  build(found: { file: string; version: string }, trial: Trial): Promise<Wall>;
  hint: string;
}

const PROVIDERS: readonly WallProvider[] = [
  {
    name: "bubblewrap",
    program: "bwrap",
    package: "bubblewrap",
    build: (found, trial) =>
      tryOut(bubblewrap({ ...found, proc: true }), trial).catch(() =>
        tryOut(bubblewrap({ ...found, proc: false }), trial),
      ),
    hint:
      "the kernel may keep ordinary users from making namespaces " +
      "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, " +
      "user.max_user_namespaces; in a unit: RestrictNamespaces=, in a container: its seccomp profile)",
  },
  {
    name: "Landlock",
    program: "setpriv",
    package: "util-linux",
    build(found, trial) {
      const wall = LandlockWall.build({ ...found, dropPowers: isRoot() && trial.user === undefined });
      if (wall === undefined) throw new Error(`there is no filter of system calls for ${process.arch}`);
      return tryOut(wall, trial);
    },
    hint: "it takes util-linux 2.41 or newer, and a kernel from 6.2 that has it among its security modules",
  },
];

/**
 * Tries to build a wall as the user of the sandboxes would: bubblewrap's, or else one of Landlock.
 * @param user user and group of sandboxes, if different from those of this process
 * @param path search path for programs, in the form of PATH
 */
export async function findWall(user: SandboxUser | undefined, path = process.env["PATH"] ?? ""): Promise<FoundWall> {
  if (process.platform !== "linux") {
    return { wall: undefined, reason: `there is no wall for ${process.platform}; bubblewrap needs Linux` };
  }
  const start: Start = (program) => spawnEnclosed(program, { cwd: "/", user });
  const reasons: string[] = [];
  for (const provider of PROVIDERS) {
    const file = findProgram(provider.program, path);
    if (file === undefined) {
      reasons.push(`${provider.program} was not found: install the package ${provider.package}`);
      continue;
    }
    try {
      const said = await outputOf(start({ file, arguments: ["--version"] }));
      const version = /\d\S*/.exec(said)?.[0] ?? "";
      return { wall: await provider.build({ file, version }, { start, user }) };
    } catch (error) {
      reasons.push(`${provider.name} cannot build it: ${messageOf(error)}; ${provider.hint}`);
    }
  }
  return { wall: undefined, reason: reasons.join(". ") };
}
