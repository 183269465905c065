import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** User of this machine. */
export interface MachineUser {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

const run = promisify(execFile);

/**
 * Finds a user by name, wherever the machine keeps its users; undefined for none.
 *
 * @param root folder of an image, whose own file of users is read; default: this machine
 */
export async function findUser(name: string, root = "/"): Promise<MachineUser | undefined> {
  const line = root === "/" ? await entryOf(name) : await lineOf(name, root);
  const [found, , uid = "", gid = "", , home = ""] = line?.split(":") ?? [];
  if (found !== name || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return undefined;
  return { name, uid: Number(uid), gid: Number(gid), home: home || "/" };
}

/** Returns the line of `passwd` of a user. getent ends with 2 for one that is not there. */
async function entryOf(name: string): Promise<string | undefined> {
  const inFile = (await looksThereFirst()) ? await lineOf(name, "/") : undefined;
  if (inFile !== undefined) return inFile;
  try {
    return (await run("getent", ["passwd", name], { timeout: 10_000 })).stdout.trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") return undefined;
    return lineOf(name, "/");
  }
}

/** True where the machine looks for users in its own file before anywhere else (nsswitch.conf(5)). */
const looksThereFirst = async (): Promise<boolean> =>
  /^\s*passwd:\s*files\b/m.test(await readFile("/etc/nsswitch.conf", "utf8").catch(() => ""));

async function lineOf(name: string, root: string): Promise<string | undefined> {
  const users = await readFile(join(root, "etc/passwd"), "utf8").catch(() => "");
  return users.split("\n").find((line) => line.startsWith(`${name}:`));
}
