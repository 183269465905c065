import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { readJsonFile, writeJsonFile } from "../releases/json-file.ts";
import { MARK_VARIABLE } from "./environment.ts";
import { ServeFault } from "./serve-fault.ts";

/**
 * Processes of an application that outlived its program or an `app serve` that was killed. They are found by their
 * process group, which is recorded, and by a variable of their environment, which a process that left the group has
 * inherited. Without /proc none is found.
 */

const processMark = z.object({
  /** Process id of the leader of the group. */
  pid: z.int().positive(),
  /** Its start, in ticks since the boot. */
  start: z.int().nonnegative(),
  boot: z.string(),
});

/** Time limit for killed processes to be gone, in milliseconds. */
const GONE_LIMIT_MS = 10_000;
const POLL_MS = 20;

const bootId = (): Promise<string> =>
  readFile("/proc/sys/kernel/random/boot_id", "latin1").then(
    (text) => text.trim(),
    () => "",
  );

interface ProcessFacts {
  pid: number;
  group: number;
  session: number;
  start: number;
  isZombie: boolean;
}

/** Reads the facts of a process; undefined when it is gone. */
async function factsOf(pid: number): Promise<ProcessFacts | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
  if (text === undefined) return undefined;
  // The name may hold blanks and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [group, session, start] = [2, 3, 19].map((at) => Number(fields[at]));
  return { pid, group: group!, session: session!, start: start!, isZombie: fields[0] === "Z" };
}

/** Records the leader of an application's process group. Does nothing where there is no /proc. */
export async function markProcess(file: string, pid: number): Promise<void> {
  const facts = await factsOf(pid);
  if (facts !== undefined)
    await writeJsonFile(file, { pid, start: facts.start, boot: await bootId() }, { durable: false });
}

/** Ids of all processes; none without /proc. */
const allProcesses = async (): Promise<number[]> =>
  (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);

/** Tells whether a process inherited the mark. Those of other users cannot be looked into. */
async function isMarked(pid: number, mark: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  return `\0${environment}`.includes(`\0${MARK_VARIABLE}=${mark}\0`);
}

/**
 * Kills every process of an application, and waits until all are gone.
 *
 * @param file record of its last process group
 * @param mark value of the variable in its environment
 * @throws ServeFault `start_failed` when one does not end
 */
export async function endLeftovers(file: string, mark: string): Promise<void> {
  const recorded = await readJsonFile(file, processMark);
  const ours = recorded?.boot === (await bootId()) ? recorded : undefined;
  const find = async (): Promise<number[]> => {
    const found: number[] = [];
    for (const pid of await allProcesses()) {
      const facts = await factsOf(pid);
      if (facts === undefined || facts.isZombie || pid === process.pid) continue;
      // A number is not used again while its group lives, so a younger process with it belongs to the group.
      const isOfGroup =
        ours !== undefined && facts.group === ours.pid && facts.session === ours.pid && facts.start >= ours.start;
      const isOther = pid === ours?.pid && facts.start !== ours.start;
      if ((isOfGroup && !isOther) || (await isMarked(pid, mark))) found.push(pid);
    }
    return found;
  };
  const limit = performance.now() + GONE_LIMIT_MS;
  for (let left = await find(); left.length > 0; left = await find()) {
    for (const pid of left) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended meanwhile, or belongs to another user, which the limit tells.
      }
    }
    if (performance.now() > limit)
      throw new ServeFault("start_failed", `An earlier process of the application does not end: ${left.join(", ")}.`);
    await sleep(POLL_MS);
  }
}
