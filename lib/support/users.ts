import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** User of this machine. */
export interface MachineUser {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

const run = promisify(execFile);

/** Finds a user of this machine by name, wherever the machine keeps its users; undefined for none. */
export async function findUser(name: string): Promise<MachineUser | undefined> {
  const line = await entryOf(name);
  const [found, , uid = "", gid = "", , home = ""] = line?.split(":") ?? [];
  if (found !== name || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return undefined;
  return { name, uid: Number(uid), gid: Number(gid), home: home || "/" };
}

/** Returns the line of `passwd` of a user. getent ends with 2 for one that is not there. */
async function entryOf(name: string): Promise<string | undefined> {
  try {
    return (await run("getent", ["passwd", name], { timeout: 10_000 })).stdout.trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") return undefined;
    const users = await readFile("/etc/passwd", "utf8").catch(() => "");
    return users.split("\n").find((line) => line.startsWith(`${name}:`));
  }
}
