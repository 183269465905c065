import { readdir, readFile } from "node:fs/promises";

/** Facts of a process that the kernel tells everybody. */
export interface ProcessFacts {
  pid: number;
  session: number;
  /** Ticks since the boot. */
  start: number;
  /** Whether it has ended, and nobody has taken note of that. */
  isZombie: boolean;
}

/** True for a process that has ended: its first thread may go before the others, which keep its sockets open. */
const hasEnded = (state: string | undefined, threads: string | undefined): boolean =>
  state === "Z" && !(Number(threads) > 1);

/** Ids of all processes; none without /proc. */
export const allProcesses = async (): Promise<number[]> =>
  (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);

/** Reads the facts of a process; undefined when it is gone. */
export async function factsOf(pid: number): Promise<ProcessFacts | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
  if (text === undefined) return undefined;
  // The name may hold blanks and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [session, start] = [3, 19].map((at) => Number(fields[at]));
  return { pid, session: session!, start: start!, isZombie: hasEnded(fields[0], fields[17]) };
}

/** Returns the living processes of which a user is the real, effective or saved one. */
export async function processesOf(uid: number): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await allProcesses()) {
    const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
    const ids = /^Uid:\t(.*)$/m.exec(status)?.[1]?.split("\t") ?? [];
    const [state, threads] = [/^State:\t(.)/m, /^Threads:\t(\d+)/m].map((line) => line.exec(status)?.[1]);
    if (ids.includes(String(uid)) && !hasEnded(state, threads)) found.push(pid);
  }
  return found;
}

/** Returns the id of this boot; empty where the system has none. */
export const bootId = (): Promise<string> =>
  readFile("/proc/sys/kernel/random/boot_id", "latin1").then(
    (text) => text.trim(),
    () => "",
  );
