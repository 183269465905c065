import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Measured {
  /** Seconds. */
  wall: number;
  /** Peak resident memory in MB, where it was sampled. */
  peakMb: number;
  stdout: string;
}

const SAMPLE_MS = 25;

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Returns the path of a built program. @param root of the checkout that has it */
export const bin = (name: string, root = ROOT): string => join(root, `dist/bin/${name}.js`);

/** Returns the peak resident memory of a living process in MB, as the kernel counts it. */
export function peakMbOf(pid: number): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Math.round((Number(kilobytes ?? 0) * 1024) / 1e6);
  } catch {
    return 0;
  }
}

/** Runs a command to its end. @throws Error when it fails */
export async function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Measured> {
  const started = performance.now();
  const child = spawn(command, args, { env: { PATH: process.env.PATH, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  let peakMb = 0;
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const sampler = setInterval(() => (peakMb = Math.max(peakMb, peakMbOf(child.pid!))), SAMPLE_MS);
  const [code] = (await once(child, "close")) as [number | null];
  clearInterval(sampler);
  const wall = (performance.now() - started) / 1000;
  if (code !== 0)
    throw new Error(
      `${command} ${args.join(" ").slice(0, 200)} ended with ${code}: ${stderr.slice(-500)}${stdout.slice(-500)}`,
    );
  return { wall, peakMb, stdout };
}

/** Runs one of Sealift's programs. */
export type Program = (name: string, args: readonly string[], env?: Record<string, string>) => Promise<Measured>;

/** Returns the programs that were built in a checkout; default: this one. */
export const programsOf =
  (root?: string): Program =>
  (name, args, env = {}) =>
    run(process.execPath, [bin(name, root), ...args], env);

export const program = programsOf();

/** Runs a shell script with `set -e` and pipefail. */
export const shell = (script: string, env: Record<string, string> = {}): Promise<Measured> =>
  run("bash", ["-c", `set -euo pipefail; ${script}`], env);

/** Server in this folder, in a process of its own, which ends with the scope. */
export interface Server extends Disposable {
  url: string;
  pid: number;
}

/** Starts one of the files here that print the port on which they listen. @param name of the file */
export async function openServer(name: string, args: readonly string[]): Promise<Server> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "inherit"], env: {} });
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  const url = `http://127.0.0.1:${port.toString().trim()}`;
  return { url, pid: child.pid!, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

/** Measures the milliseconds that some work takes. */
export async function msOf(work: () => unknown): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

/** Returns names in the order of a turn, every second turn the other way round: what runs first may pay more. */
export const inTurn = <Name extends string>(names: Iterable<Name>, turn: number): Name[] =>
  turn % 2 === 0 ? [...names] : [...names].reverse();

/**
 * Takes measurements in turn, so that anything that slows the machine for a while affects all of them.
 *
 * @returns for each the numbers of its turns
 */
export async function numbersByTurns<Name extends string>(
  turns: number,
  attempts: Record<Name, () => number | Promise<number>>,
): Promise<Record<Name, number[]>> {
  const all = Object.fromEntries(Object.keys(attempts).map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let turn = 0; turn < turns; turn++)
    for (const name of inTurn(Object.keys(attempts) as Name[], turn)) all[name].push(await attempts[name]());
  return all;
}

/**
 * Measures commands in turn, so that anything that slows the machine for a while affects all of them.
 *
 * @returns for each the run of median wall time, with the peak memory of all of its runs
 */
export async function byTurns<Name extends string>(
  times: number,
  attempts: Record<Name, () => Promise<Measured>>,
): Promise<Record<Name, Measured>> {
  const all = new Map<Name, Measured[]>();
  for (let turn = 0; turn < times; turn++)
    for (const name of inTurn(Object.keys(attempts) as Name[], turn)) {
      warmMemory();
      all.set(name, [...(all.get(name) ?? []), await attempts[name]()]);
    }
  const middles = all.entries().map(([name, measured]): [Name, Measured] => {
    const middle = measured.toSorted((a, b) => a.wall - b.wall)[Math.floor(measured.length / 2)]!;
    return [name, { ...middle, peakMb: Math.max(...measured.map(({ peakMb }) => peakMb)) }];
  });
  return Object.fromEntries(middles) as Record<Name, Measured>;
}

/** Returns the best of some runs: on a shared machine the least disturbed one is the measurement. */
export async function best(times: number, attempt: () => Promise<Measured>): Promise<Measured> {
  let found: Measured | undefined;
  for (let run = 0; run < times; run++) {
    const measured = await attempt();
    if (found === undefined || measured.wall < found.wall)
      found = { ...measured, peakMb: Math.max(measured.peakMb, found?.peakMb ?? 0) };
    else found.peakMb = Math.max(found.peakMb, measured.peakMb);
  }
  return found!;
}

/** Bytes of memory: more than any measured command takes. */
const WARM_BYTES = 2 * 1024 ** 3;

/**
 * Takes memory and frees it, so that this machine has it for the measured command. A virtual machine may return free
 * memory to its host within seconds, and gets it back page by page: on one of them a new GiB takes 2 to 6 s instead of
 * 0.6, so a command would be measured by what ran before it. A separate process takes it, so that all of it is freed at
 * once.
 */
export function warmMemory(): void {
  const bytes = Math.floor(Math.min(WARM_BYTES, freemem() / 2));
  execFileSync(process.execPath, ["-e", `Buffer.alloc(${bytes}, 1)`], { stdio: "inherit", env: {} });
}

let made = 0;

/**
 * Returns the path of an unused folder, for one run. ext4 skips recently deleted inodes one by one: after folders of
 * many files were removed, each new file takes a millisecond. So these stay until their stage is removed, while a
 * folder of large files is removed for the next one.
 *
 * @param many whether a run leaves many files in it
 */
export function freshFolder(parent: string, name: string, many: boolean): string {
  const path = join(parent, many ? `${name}-${made++}` : name);
  rmSync(path, { recursive: true, force: true });
  return path;
}
