import { readdir, readFile } from "node:fs/promises";

/** Facts of a process that the kernel tells everybody. */
export interface ProcessFacts {
  pid: number;
  group: number;
  session: number;
  /** Ticks since the boot. */
  start: number;
  isZombie: boolean;
}

/** Ids of all processes; none without /proc. */
export const allProcesses = async (): Promise<number[]> =>
  (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);

/** Reads the facts of a process; undefined when it is gone. */
export async function factsOf(pid: number): Promise<ProcessFacts | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
  if (text === undefined) return undefined;
  // The name may hold blanks and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [group, session, start] = [2, 3, 19].map((at) => Number(fields[at]));
  return { pid, group: group!, session: session!, start: start!, isZombie: fields[0] === "Z" };
}

/** Returns the living processes of which a user is the real, effective or saved one. */
export async function processesOf(uid: number): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await allProcesses()) {
    const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
    const ids = /^Uid:\t(.*)$/m.exec(status)?.[1]?.split("\t") ?? [];
    if (ids.includes(String(uid)) && !/^State:\tZ/m.test(status)) found.push(pid);
  }
  return found;
}

/** Returns the id of this boot; empty where the system has none. */
export const bootId = (): Promise<string> =>
  readFile("/proc/sys/kernel/random/boot_id", "latin1").then(
    (text) => text.trim(),
    () => "",
  );
