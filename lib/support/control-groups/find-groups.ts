import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "../logging.ts";
import { BOUNDS, ControlGroups, type Controller } from "./control-group.ts";
import { OWN_LEAF, ownFolder } from "./own-group.ts";

/** Finds out by trying whether this runtime may make control groups. */

/** Groups, or why there are none. */
export type FoundGroups = { groups: ControlGroups } | { groups: undefined; reason: string };

const CONTROLLERS: readonly Controller[] = ["memory", "cpu", "pids"];
const DELEGATE = "the runtime's unit needs Delegate=yes, as sealift-runtime.service has it";

/** Describes in words what controllers limit. */
export const boundsOf = (controllers: readonly Controller[]): string =>
  controllers.map((controller) => BOUNDS[controller]).join(", ");

/** Describes in one phrase what limits sandboxes. */
export const describeGroups = (found: FoundGroups): string =>
  found.groups
    ? `a control group bounds the ${boundsOf(found.groups.controllers)} of each`
    : `no control groups: ${found.reason}`;

/** Returns the available controllers. @throws Error when there are none */
export async function controllersIn(folder: string, more: readonly Controller[] = []): Promise<Controller[]> {
  const there = (await readFile(join(folder, "cgroup.controllers"), "latin1")).trim().split(/\s+/);
  const usable = CONTROLLERS.filter((controller) => there.includes(controller));
  if (usable.length > 0) return [...usable, ...more.filter((controller) => there.includes(controller))];
  throw new Error("cgroup v2 has none of the controllers memory, cpu and pids here (cgroup v1 may have them)");
}

function isDescendant(pid: number): boolean {
  for (let current = pid; current !== process.pid;) {
    if (current <= 1) return false;
    try {
      current = Number(readFileSync(`/proc/${current}/stat`, "latin1").split(") ").at(-1)?.split(" ")[1]);
    } catch {
      return true; // It is gone.
    }
  }
  return true;
}

/** Moves this process, and those that it has started, into a leaf of its group. @throws Error when others are in it */
export async function makeRoom(folder: string): Promise<void> {
  const pids = (await readFile(join(folder, "cgroup.procs"), "latin1")).split("\n").filter(Boolean).map(Number);
  if (!pids.every(isDescendant)) throw new Error(`other processes are in its control group; ${DELEGATE}`);
  const leaf = join(folder, OWN_LEAF);
  await mkdir(leaf).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  for (const pid of pids) {
    await writeFile(join(leaf, "cgroup.procs"), String(pid)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ESRCH") throw error;
    });
  }
}

/**
 * Prepares the control group of this process for groups of sandboxes, and moves this process into a group of its own.
 * @param own folder of this process's control group, instead of asking the kernel
 * @param boundsIo whether to limit disk traffic, too
 */
export async function findGroups(logger: Logger, own?: string, boundsIo = false): Promise<FoundGroups> {
  if (process.platform !== "linux") return { groups: undefined, reason: `${process.platform} has no control groups` };
  try {
    const folder = own ?? ownFolder();
    const isPrepared = basename(folder) === OWN_LEAF;
    const parent = isPrepared ? dirname(folder) : folder;
    const controllers = await controllersIn(parent, boundsIo ? ["io"] : []);
    // The root of the hierarchy may have both processes and groups; it is the one without a type.
    if (!isPrepared && existsSync(join(parent, "cgroup.type"))) await makeRoom(parent);
    const enabled = controllers.map((controller) => `+${controller}`).join(" ");
    await writeFile(join(parent, "cgroup.subtree_control"), enabled);
    const groups = new ControlGroups(parent, controllers, logger);
    await groups.removeLeftovers();
    return { groups };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const denied = code === "EACCES" || code === "EPERM" || code === "EROFS";
    return {
      groups: undefined,
      reason: denied ? `it may not make control groups; ${DELEGATE}` : (error as Error).message,
    };
  }
}

/** Reports what a runtime on this host could limit. Changes nothing. */
export async function examineGroups(): Promise<string> {
  try {
    let folder = ownFolder();
    // A unit gets the controllers that the root of the hierarchy has.
    while (existsSync(join(dirname(folder), "cgroup.controllers"))) folder = dirname(folder);
    return `a unit with Delegate=yes bounds ${boundsOf(await controllersIn(folder))}`;
  } catch (error) {
    return `nothing bounds its processor and processes: ${(error as Error).message}`;
  }
}
