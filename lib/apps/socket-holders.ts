import { fstatSync } from "node:fs";
import { readdir, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { allProcesses } from "./processes.ts";

/** Time after which a process that was just being started has let go of what it inherited, in milliseconds. */
const STARTING_MS = 50;

/** Returns the inodes of a process's sockets. One that belongs to somebody else tells none. */
export async function socketsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

/**
 * Returns the other processes that hold one of these sockets of ours, as far as this user may look: a descriptor that
 * waits in a unix socket is seen nowhere.
 *
 * @param descriptors of this process
 */
export async function otherHolders(descriptors: readonly number[]): Promise<number[]> {
  const inodes = new Set(descriptors.map((descriptor) => String(fstatSync(descriptor).ino)));
  const first = await holdersAmong(await allProcesses(), inodes);
  // Between fork and exec, a process that is being started has everything that this one has.
  if (first.length > 0) await sleep(STARTING_MS);
  return holdersAmong(first, inodes);
}

async function holdersAmong(pids: readonly number[], inodes: ReadonlySet<string>): Promise<number[]> {
  const holders: number[] = [];
  for (const pid of pids)
    if (pid !== process.pid && (await socketsOf(pid)).some((inode) => inodes.has(inode))) holders.push(pid);
  return holders;
}
