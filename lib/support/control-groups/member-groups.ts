import { mkdir, readdir, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ifThere } from "../files.ts";
import { killGroup, membersOf } from "./control-group.ts";
import { enableLimits } from "./member-limits.ts";
import { type GroupPlace, OWN_LEAF, ownPlace, placeOf } from "./own-group.ts";

/**
 * Control groups (cgroup v2) as the kernel's own list of who belongs to a program. They need no controller and limit
 * nothing: a process is in the group of whoever started it, whatever it says of itself.
 */

/** Groups, or why there are none. */
export type FoundMembers =
  | { members: MemberGroups; /** Why they limit nothing, if so. */ unlimited?: string | undefined }
  | { members: undefined; reason: string };

/** Time between two looks at a group that is ending, in milliseconds. */
const POLL_MS = 10;
/** Deepest groups that are searched for those of an earlier process. */
const MAX_DEPTH = 12;

/** Control groups of one owner, below the group of this process. */
export class MemberGroups {
  readonly #parent: string;
  readonly #owner: string;

  constructor(parent: string, owner: string) {
    this.#parent = parent;
    this.#owner = owner;
  }

  /** Returns the group of a member, which need not be there yet. @param name file name of at most 128 bytes */
  of(name: string): MemberGroup {
    return new MemberGroup(join(this.#parent, `${this.#owner}-${name}`));
  }
}

/** Control group of one program and of all that it starts. */
export class MemberGroup {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** File to which a process writes `0` to enter. */
  get entrance(): string {
    return join(this.folder, "cgroup.procs");
  }

  /** Ids of its processes; none where it is not there. */
  get pids(): number[] {
    return membersOf(this.folder);
  }

  /** Makes the group, unless it is there. @throws Error from the kernel */
  async make(): Promise<void> {
    await mkdir(this.folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }

  /** Kills every process of the group, and waits until none is left. @returns those left after `limitMs` */
  async end(limitMs: number): Promise<number[]> {
    const limit = performance.now() + limitMs;
    for (;;) {
      const left = this.pids;
      if (left.length === 0 || performance.now() > limit) return left;
      killGroup(this.folder);
      await sleep(POLL_MS);
    }
  }

  /** Removes an empty group; best effort. */
  async remove(): Promise<void> {
    await rmdir(this.folder).catch(() => undefined);
  }
}

/** Returns the folder in which a process of a group makes groups: beside the leaf of one that hands controllers on. */
const parentOf = (folder: string): string => (basename(folder) === OWN_LEAF ? dirname(folder) : folder);

/**
 * Makes a group for one program that ends with this process. Needs no look at the groups of others.
 *
 * @param beside process whose group of an owner it is made beside, where limits count; default: below the group of this
 *   process
 * @returns undefined where this process may make none, or that one is in no group of the owner
 */
export async function makeMember(
  name: string,
  beside?: { pid: number; owner: string },
): Promise<MemberGroup | undefined> {
  if (process.platform !== "linux") return undefined;
  try {
    const { folder } = beside === undefined ? ownPlace() : placeOf(beside.pid);
    if (beside !== undefined && !basename(folder).startsWith(`${beside.owner}-`)) return undefined;
    const group = new MemberGroup(join(beside === undefined ? parentOf(folder) : dirname(folder), name));
    await group.make();
    return group;
  } catch {
    return undefined;
  }
}

/**
 * Finds out by trying whether this process may make control groups, and ends what earlier processes of the owner left
 * in theirs, wherever those are.
 *
 * @param owner name that no other owner on this machine has; it begins the name of each group
 * @param place of this process's group, instead of asking the kernel
 */
export async function findMembers(owner: string, limitMs: number, place?: GroupPlace): Promise<FoundMembers> {
  if (process.platform !== "linux") return { members: undefined, reason: `${process.platform} has no control groups` };
  try {
    const { mount, folder } = place ?? ownPlace();
    // A group that hands controllers on has no processes of its own.
    const parent = parentOf(folder);
    const trial = join(parent, `${owner}-trial-${process.pid}`);
    await mkdir(trial);
    await rmdir(trial);
    for await (const left of groupsOf(mount, `${owner}-`)) {
      await left.end(limitMs);
      await left.remove();
    }
    const unlimited = place === undefined ? await enableLimits(parent) : undefined;
    return { members: new MemberGroups(parent, owner), unlimited };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isDenied = code === "EACCES" || code === "EPERM" || code === "EROFS";
    return { members: undefined, reason: isDenied ? "it may not make control groups" : message };
  }
}

/** Lists the groups below a folder whose names begin so. */
async function* groupsOf(folder: string, prefix: string, depth = 0): AsyncGenerator<MemberGroup> {
  const entries = (await ifThere(readdir(folder, { withFileTypes: true }))) ?? [];
  for (const entry of entries) {
    if (!entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    if (entry.name.startsWith(prefix)) yield new MemberGroup(path);
    else if (depth < MAX_DEPTH) yield* groupsOf(path, prefix, depth + 1);
  }
}
