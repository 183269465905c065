import { randomBytes } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TargetName } from "../contract/target.ts";
import { ifThere, namesIn } from "../support/files.ts";
import { writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

/** Records of programs that people run in the place of an application: their releases are kept meanwhile. */

interface Run {
  target: string;
  release: string;
  pid: number;
  /** Start of the process: a later one with its number has another. */
  start: string;
}

/** Reads a record; undefined for what is none. No schema is loaded for it: somebody waits for a run. */
async function readRun(file: string): Promise<Run | undefined> {
  const text = await ifThere(readFile(file, "utf8"));
  try {
    const run = JSON.parse(text ?? "null") as Partial<Record<keyof Run, unknown>> | null;
    const texts = [run?.target, run?.release, run?.start].every((text) => typeof text === "string");
    return texts && Number.isInteger(run?.pid) ? (run as Run) : undefined;
  } catch {
    return undefined;
  }
}

/** Folder of the records in a project root. */
const runsFolder = ({ sealift }: Layout): string => join(sealift, "runs");

/** Records a run of this process, until it is disposed of. */
export async function recordRun(layout: Layout, target: TargetName, release: string): Promise<AsyncDisposable> {
  const file = join(runsFolder(layout), `${process.pid}-${randomBytes(6).toString("hex")}.json`);
  const start = (await startOf(process.pid)) ?? "";
  await writeJsonFile(file, { target, release, pid: process.pid, start }, { durable: false });
  return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
}

/** Returns the releases of a target in which somebody runs a program now. Removes records of those that ended. */
export async function releasesRunIn(layout: Layout, target: TargetName): Promise<Set<string>> {
  const found = new Set<string>();
  for (const name of await namesIn(runsFolder(layout))) {
    const file = join(runsFolder(layout), name);
    const record = await readRun(file);
    if (record === undefined) continue;
    const lives = record.start === ((await startOf(record.pid)) ?? "none");
    if (lives && record.target === target) found.add(record.release);
    if (!lives) await rm(file, { force: true }).catch(() => undefined);
  }
  return found;
}

/** Returns what tells a process from every other one: its start, and the boot; undefined when it is gone. */
async function startOf(pid: number): Promise<string | undefined> {
  const [stat, boot] = await Promise.all([
    readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined),
    readFile("/proc/sys/kernel/random/boot_id", "latin1").catch(() => ""),
  ]);
  // The name may hold blanks and parentheses.
  return stat && `${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]} ${boot.trim()}`;
}
