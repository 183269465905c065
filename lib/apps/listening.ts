import { readFile } from "node:fs/promises";
import { socketsOf } from "./socket-holders.ts";

/** Address at which a process takes connections. */
export interface Listening {
  port: number;
  /** Whether connections from other machines are taken, too: it listens on every address. */
  isOpen: boolean;
}

/** State of a socket that listens, in `/proc/net/tcp` (proc(5)). */
const LISTENS = "0A";
/** Addresses in `/proc/net/tcp` and `tcp6` that stand for every address of the machine. */
const EVERY = /^0+$/;

/**
 * Returns the TCP addresses at which a process and its children listen, by port. None where the system does not tell.
 */
export async function listeningOf(pid: number): Promise<Listening[]> {
  const inodes = new Set<string>();
  for (const each of await withChildren(pid)) for (const inode of await socketsOf(each)) inodes.add(inode);
  const found = new Map<number, Listening>();
  for (const table of ["tcp", "tcp6"]) {
    const lines = (await textOf(`/proc/${pid}/net/${table}`)).split("\n").slice(1);
    for (const line of lines) {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      const [address = "", port = ""] = local.split(":");
      if (state !== LISTENS || !inodes.has(inode)) continue;
      const at = Number.parseInt(port, 16);
      found.set(at, { port: at, isOpen: EVERY.test(address) || (found.get(at)?.isOpen ?? false) });
    }
  }
  return [...found.values()].toSorted((a, b) => a.port - b.port);
}

async function withChildren(pid: number): Promise<number[]> {
  const children = (await textOf(`/proc/${pid}/task/${pid}/children`)).split(" ").filter(Boolean);
  return [pid, ...(await Promise.all(children.map((child) => withChildren(Number(child))))).flat()];
}

/** Reads a file of a process; that of one which has ended, even while it is read, is empty. */
const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");
