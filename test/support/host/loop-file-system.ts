import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { temporaryFolder } from "../temporary-folder.ts";
import { until } from "../until.ts";

/** The smallest that mkfs.xfs makes; the file is sparse. */
const BYTES = 512 * 1024 * 1024;

/**
 * Mounts a new file system from a file, until the test ends.
 *
 * @returns its folder, or the reason why this machine mounts none: no root, no loop devices, no such file system
 */
export function mountLoop(t: Test, type: "xfs" | "btrfs"): { folder: string } | { reason: string } {
  const image = join(temporaryFolder(t), "image");
  writeFileSync(image, "");
  truncateSync(image, BYTES);
  return mount(t, (folder) => {
    run(`mkfs.${type}`, "-q", image);
    run("mount", "-o", "loop", image, folder);
  });
}

/**
 * Mounts a new FAT32, as most sticks have it, until the test ends: by FUSE, since not every kernel knows FAT.
 *
 * @param bytes size of the stick
 * @returns its folder, and what puts the stick in again, takes or pulls it out
 */
export async function mountFat(t: Test, bytes: number) {
  const image = join(temporaryFolder(t), "image");
  const folder = join(temporaryFolder(t), "stick");
  writeFileSync(image, "");
  truncateSync(image, bytes);
  mkdirSync(folder);
  run("mkfs.vfat", "-F", "32", image);
  let driver: ChildProcess | undefined;
  /** Ends the driver: what happens to the stick then is told by its own state. */
  async function ended(signal?: NodeJS.Signals): Promise<void> {
    if (driver === undefined) return;
    if (signal !== undefined) driver.kill(signal);
    await until(() => driver!.exitCode !== null || driver!.signalCode !== null);
    driver = undefined;
  }
  const stick = {
    folder,
    async putIn(how: "ro" | "rw+" = "rw+") {
      driver = spawn("fusefat", [image, folder, "-o", how, "-f"], { stdio: "ignore" });
      await until(() => spawnSync("mountpoint", ["-q", folder]).status === 0);
    },
    async takeOut() {
      if (driver === undefined) return;
      run("umount", folder);
      await ended();
    },
    /** Pulls the stick out in the middle of whatever uses it: every call fails from then on. */
    async pullOut() {
      await ended("SIGKILL");
      run("umount", "-l", folder);
    },
    /** Requires the file system to be whole. @throws Error with what is wrong with it */
    check: () => run("fsck.vfat", "-n", image),
  };
  t.teardown(() => stick.takeOut());
  await stick.putIn();
  return stick;
}

/** Mounts a file system of a few bytes in memory, until the test ends, as {@link mountLoop} does. */
export const mountMemory = (t: Test, bytes: number): { folder: string } | { reason: string } =>
  mount(t, (folder) => run("mount", "-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", folder));

function run(program: string, ...args: string[]): void {
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  execFileSync(program, args, { stdio: "pipe", timeout: 60_000, env });
}

function mount(t: Test, make: (folder: string) => void): { folder: string } | { reason: string } {
  const folder = join(temporaryFolder(t), "mounted");
  mkdirSync(folder);
  try {
    make(folder);
  } catch (error) {
    return { reason: (error as Error).message };
  }
  t.teardown(() => run("umount", folder));
  return { folder };
}
