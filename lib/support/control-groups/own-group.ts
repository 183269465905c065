import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** Control group (cgroup v2) of this process. */

/** Name of the runtime's own leaf: a group with groups in it may have no processes (the kernel's cgroup-v2.rst). */
export const OWN_LEAF = "sealift-runtime";

/** Place of a control group in the file system. */
export interface GroupPlace {
  /** Mount point of the hierarchy, as far as this process sees it. */
  mount: string;
  /** Folder of the group. */
  folder: string;
}

/**
 * Returns the place of a process's control group, from the kernel's own tables.
 * @throws Error that says what is missing
 */
export function groupPlace(memberships: string, mounts: string): GroupPlace {
  const path = /^0::(\/.*)$/m.exec(memberships)?.[1];
  if (path === undefined) throw new Error("this kernel has no cgroup v2");
  for (const line of mounts.split("\n")) {
    // ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS (proc_pid_mountinfo(5))
    const [left = "", right = ""] = line.split(" - ");
    const [, , , root = "", mountPoint = ""] = left.split(" ");
    if (!right.startsWith("cgroup2 ")) continue;
    const below = relative(root, path);
    if (below !== ".." && !below.startsWith("../")) return { mount: mountPoint, folder: join(mountPoint, below) };
  }
  throw new Error("no cgroup v2 is mounted that has this process");
}

/** Returns the place of a process's group. @throws Error that says what is missing */
export const placeOf = (pid: number | "self"): GroupPlace =>
  groupPlace(readFileSync(`/proc/${pid}/cgroup`, "latin1"), readFileSync("/proc/self/mountinfo", "latin1"));

/** Returns the place of this process's group. @throws Error that says what is missing */
export const ownPlace = (): GroupPlace => placeOf("self");

/** Returns the folder of this process's group. @throws Error that says what is missing */
export const ownFolder = (): string => ownPlace().folder;
