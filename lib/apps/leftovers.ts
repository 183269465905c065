import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { serveFolder } from "../releases/applications.ts";
import { writeJsonFile } from "../releases/json-file.ts";
import type { Layout } from "../releases/layout.ts";
import { ifThere, namesIn } from "../support/files.ts";
import { type ApplicationMark, MARK_VARIABLE, rootKey } from "./environment.ts";
import { endMembers, GONE_LIMIT_MS, type Membership } from "./membership.ts";
import { allProcesses, bootId, factsOf } from "./processes.ts";
import { ServeFault } from "./serve-fault.ts";

/**
 * Processes of an application that outlived its program or an `app serve` that was killed. Its membership tells them.
 * Careless ones are also found by their session, which is recorded, and by a variable of their environment, which
 * a process that left the session has inherited: without a membership that is all there is.
 */

export interface ProcessMark {
  /** Process id of the leader of the session. */
  pid: number;
  /** Its start, in ticks since the boot. */
  start: number;
  boot: string;
  /** User who was the application's alone. */
  uid?: number | undefined;
}

const POLL_MS = 20;
const EXTENSION = ".json";

/** Returns the path of the mark of an application. */
export const markFile = (layout: Layout, id: string): string => join(serveFolder(layout), `${id}${EXTENSION}`);

/** Lists the applications of a project root that have a mark. */
export async function markedApplications(layout: Layout): Promise<string[]> {
  const { pluginId } = await import("../contract/identifiers.ts");
  return (await namesIn(serveFolder(layout)))
    .filter((name) => name.endsWith(EXTENSION))
    .map((name) => name.slice(0, -EXTENSION.length))
    .filter((id) => pluginId.safeParse(id).success);
}

/**
 * Records the leader of an application's session, and a user of its own. Best effort: a full disk ends nothing.
 * Does nothing where there is no /proc.
 */
export async function markProcess(file: string, pid: number, { uid }: Pick<Membership, "uid">): Promise<void> {
  try {
    const facts = await factsOf(pid);
    const mark = facts && { pid, start: facts.start, boot: await bootId(), ...(uid !== undefined && { uid }) };
    if (mark !== undefined) await writeJsonFile(file, mark, { durable: false });
  } catch {
    // The variable finds it all the same, and a membership needs no mark.
  }
}

/** Reads a mark; undefined for what is none. No schema is loaded for it: somebody waits for a run. */
async function recordedMark(file: string): Promise<ProcessMark | undefined> {
  const text = await ifThere(readFile(file, "utf8"));
  try {
    const mark = JSON.parse(text ?? "null") as Record<keyof ProcessMark, unknown> | null;
    const numbers = [mark?.pid, mark?.start, mark?.uid ?? 1].every((one) => Number.isInteger(one) && Number(one) >= 0);
    return numbers && mark?.pid !== 0 && mark?.uid !== 0 && typeof mark?.boot === "string"
      ? (mark as ProcessMark)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the mark of this boot; undefined where there is none. */
export async function readMark(file: string): Promise<ProcessMark | undefined> {
  const recorded = await recordedMark(file);
  return recorded?.boot === (await bootId()) ? recorded : undefined;
}

/** Tells whether a process inherited the mark. Those of other users cannot be looked into. */
async function isMarked(pid: number, { value, former, key, path }: ApplicationMark): Promise<boolean> {
  const environment = `\0${await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "")}`;
  const has = (mark: string): boolean => environment.includes(`\0${MARK_VARIABLE}=${mark}\0`);
  if (has(value)) return true;
  // The former one counts where the process sees the same folder there.
  return has(former) && (await rootKey(`/proc/${pid}/root${path}`).catch(() => undefined)) === key;
}

/**
 * Kills every process of an application, and waits until all are gone.
 *
 * @param file record of its last session
 * @param mark what the variable in its environment has
 * @throws ServeFault `start_failed` when one does not end
 */
export async function endLeftovers(
  file: string,
  mark: ApplicationMark,
  membership: Membership | undefined,
): Promise<void> {
  const members = membership === undefined ? [] : await endMembers(membership);
  if (members.length > 0) throw notEnding(members);
  const ours = await readMark(file);
  const find = async (): Promise<number[]> => {
    const found: number[] = [];
    // A number is not used again while its session lives, so another process with it leads a session of its own.
    const leader = ours === undefined ? undefined : await factsOf(ours.pid);
    const isOurs = ours !== undefined && (leader === undefined || leader.start === ours.start);
    for (const pid of await allProcesses()) {
      const facts = await factsOf(pid);
      if (facts === undefined || facts.isZombie || pid === process.pid) continue;
      const isOfSession = isOurs && facts.session === ours.pid && facts.start >= ours.start;
      if (isOfSession || (await isMarked(pid, mark))) found.push(pid);
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
    if (performance.now() > limit) throw notEnding(left);
    await sleep(POLL_MS);
  }
}

const notEnding = (pids: readonly number[]): ServeFault =>
  new ServeFault("start_failed", `An earlier process of the application does not end: ${pids.join(", ")}.`);
