import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Integration } from "../../contract/files/integration.ts";
import type { Logger } from "../../support/logging.ts";
import { settledWithin } from "../../support/within.ts";
import { messageOf } from "../guest/fault.ts";
import type { SandboxUser } from "../sandbox/folder-scan.ts";
import { bubblewrap } from "./bubblewrap.ts";
import { spawnEnclosed } from "./spawn.ts";
import type { Wall } from "./wall.ts";

/** Finds out by trying which wall this host can build. */

export type WallPolicy = "required" | "preferred" | "off";

/** A wall, or why there is none. */
export type FoundWall = { wall: Wall } | { wall: undefined; reason: string; waived?: boolean };

/** A trial starts `node --version`; milliseconds. */
const TRIAL_MS = 10_000;

/** Returns what the configuration says of walls: production asks for one. */
export const wallPolicyOf = ({ app, plugins }: Integration): WallPolicy =>
  plugins.sandbox.wall ?? (app.env === "production" ? "required" : "preferred");

/**
 * Finds the wall that a configuration asks for, and says in the log what holds sandboxed plugins.
 * @param waived why this runtime builds none, whatever its configuration asks for
 */
export async function chooseWall(
  settings: Integration,
  user: SandboxUser | undefined,
  logger: Logger,
  waived?: string,
): Promise<FoundWall> {
  if (waived !== undefined) return { wall: undefined, reason: waived, waived: true };
  const policy = wallPolicyOf(settings);
  const off = { wall: undefined, reason: "plugins.sandbox.wall is off" };
  const found: FoundWall = policy === "off" ? off : await findWall(user);
  const own = user ? `Node's permission model, user ${user.uid}` : "Node's permission model";
  if (found.wall)
    logger.info(`sandboxed plugins are held by ${own} and ${found.wall.name}: ${found.wall.parts.join(", ")}`);
  else if (policy === "required") logger.error(`sandboxed plugins do not load: ${found.reason}`);
  else logger.warn(`sandboxed plugins are held by ${own}, without a second wall: ${found.reason}`);
  return found;
}

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

/** Runs a program, behind a wall if there is one. Resolves with what it printed. @throws Error with what went wrong */
async function outputOf(start: () => ReturnType<typeof spawnEnclosed>): Promise<string> {
  const child = start();
  let [output, complaint] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (!(await settledWithin(ended, TRIAL_MS))) child.kill("SIGKILL");
  const code = await ended;
  if (code !== 0) throw new Error(complaint.trim().split("\n").at(-1) ?? `it ended with ${code ?? "a signal"}`);
  return output;
}

const HINT =
  "the kernel may keep ordinary users from making namespaces " +
  "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces; " +
  "in a unit: RestrictNamespaces=, in a container: its seccomp profile)";

/**
 * Tries to build a wall as the user of the sandboxes would.
 * @param user the user and group of sandboxes, when they are not those of this process
 * @param path where programs are looked for, as PATH has it
 */
export async function findWall(user: SandboxUser | undefined, path = process.env["PATH"] ?? ""): Promise<FoundWall> {
  if (process.platform !== "linux") {
    return { wall: undefined, reason: `there is no wall for ${process.platform}; bubblewrap needs Linux` };
  }
  const file = findProgram("bwrap", path);
  if (file === undefined) {
    return { wall: undefined, reason: "bwrap was not found: install the package bubblewrap" };
  }
  const start = (program: Parameters<typeof spawnEnclosed>[0]) => () => spawnEnclosed(program, { cwd: "/", user });
  let reason = "";
  try {
    const version = (await outputOf(start({ file, arguments: ["--version"] }))).trim().replace(/^bubblewrap /, "");
    for (const proc of [true, false]) {
      const wall = bubblewrap({ file, version, proc });
      const view = { reads: [], writes: [], cwd: "/", network: "none" } as const;
      try {
        await outputOf(start(wall.enclose({ file: process.execPath, arguments: ["--version"] }, view)));
        return { wall };
      } catch (error) {
        reason = messageOf(error);
      }
    }
  } catch (error) {
    reason = messageOf(error);
  }
  return { wall: undefined, reason: `bubblewrap cannot build it: ${reason}; ${HINT}` };
}
