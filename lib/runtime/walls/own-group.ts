import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** Control group (cgroup v2) of this process. */

/** Name of the runtime's own leaf: a group with groups in it may have no processes (the kernel's cgroup-v2.rst). */
export const OWN_LEAF = "sealift-runtime";

/**
 * Returns the folder of a process's control group, from the kernel's own tables.
 * @throws Error that says what is missing
 */
export function groupFolder(memberships: string, mounts: string): string {
  const path = /^0::(\/.*)$/m.exec(memberships)?.[1];
  if (path === undefined) throw new Error("this kernel has no cgroup v2");
  for (const line of mounts.split("\n")) {
    // ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS (proc_pid_mountinfo(5))
    const [left = "", right = ""] = line.split(" - ");
    const [, , , root = "", mountPoint = ""] = left.split(" ");
    if (!right.startsWith("cgroup2 ")) continue;
    const below = relative(root, path);
    if (below !== ".." && !below.startsWith("../")) return join(mountPoint, below);
  }
  throw new Error("no cgroup v2 is mounted that has this process");
}

/** Returns the folder of this process's group. @throws Error that says what is missing */
export const ownFolder = (): string =>
  groupFolder(readFileSync("/proc/self/cgroup", "latin1"), readFileSync("/proc/self/mountinfo", "latin1"));
