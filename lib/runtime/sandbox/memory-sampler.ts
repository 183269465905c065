import { execFile } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { ASSUMED_NODE_BYTES } from "./memory-shares.ts";

/**
 * Samples the resident memory of sandboxes: Buffers and WebAssembly memory are outside of V8's heap, so its flags do
 * not limit them. One timer serves all, since a timer for each would wake an idle runtime once per sandbox.
 */

/** Milliseconds between two looks while a process works, and while all of them are idle. */
export const LOOK_MS = 125;
const IDLE_LOOK_MS = 250;
/** Time after the last work of any process until all count as idle, in milliseconds. */
const WORKING_MS = 1000;
/** Buffer for `/proc/PID/stat`, in bytes, which is shorter for any program name. */
const MAX_STAT_BYTES = 1024;

export interface Sampled {
  pid: number;
  /** Limit beyond which `onExceeded` is called after every look; `onNear` is called close to it. */
  limitBytes: number;
  /** Resident memory, as last seen. */
  residentBytes: number;
  /** Grows when the process has used the processor since the last sample; undefined where that cannot be seen. */
  activity?: number;
  onExceeded(): void;
  onNear?(): void;
}

/** Share of its limit from which a process counts as near it. */
const NEAR = 0.8;

let pageSize: number | undefined;

/** Returns the page size, computed from this process's memory in bytes and in pages, since Node does not report it. */
function bytesInPage(): number {
  if (pageSize === undefined) {
    const pages = Number(readFileSync("/proc/self/statm", "latin1").split(" ")[1]);
    pageSize = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
  }
  return pageSize;
}

/** Reads the memory and the processor time out of `/proc/PID/stat` (proc_pid_stat(5)). @throws Error if cut short */
export function parseStat(text: string): { residentBytes: number; ticks: number } {
  // The second field, the program's name in parentheses, may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [ticks, pages] = [Number(fields[11]) + Number(fields[12]), Number(fields[21])];
  if (Number.isNaN(ticks + pages)) throw new Error("/proc/PID/stat is cut short");
  return { residentBytes: pages * bytesInPage(), ticks };
}

function judge(sampled: Sampled, residentBytes: number): void {
  sampled.residentBytes = residentBytes;
  if (residentBytes > sampled.limitBytes) sampled.onExceeded();
  else if (residentBytes > sampled.limitBytes * NEAR) sampled.onNear?.();
}

/** Watched process. Its `/proc/PID/stat` stays open, which saves three quarters of the cost of a look. */
class Watched implements Disposable {
  static readonly #bytes = Buffer.allocUnsafe(MAX_STAT_BYTES);
  readonly sampled: Sampled;
  #stat: { pid: number; fd: number } | undefined;
  #ticks = -1;

  constructor(sampled: Sampled) {
    this.sampled = sampled;
  }

  /** Samples the process. @returns whether it has worked since the last look */
  look(): boolean {
    const { sampled } = this;
    try {
      // The process is the wall at first, and then what it encloses.
      if (this.#stat?.pid !== sampled.pid) {
        this[Symbol.dispose]();
        this.#stat = { pid: sampled.pid, fd: openSync(`/proc/${sampled.pid}/stat`, "r") };
      }
      const length = readSync(this.#stat.fd, Watched.#bytes, 0, MAX_STAT_BYTES, 0);
      const { residentBytes, ticks } = parseStat(Watched.#bytes.toString("latin1", 0, length));
      const hasWorked = ticks !== this.#ticks;
      if (hasWorked) sampled.activity = (sampled.activity ?? 0) + 1;
      this.#ticks = ticks;
      judge(sampled, residentBytes);
      return hasWorked;
    } catch {
      return false; // It has ended.
    }
  }

  [Symbol.dispose](): void {
    if (this.#stat) closeSync(this.#stat.fd);
    this.#stat = undefined;
  }
}

export class MemorySampler {
  readonly #watched = new Set<Watched>();
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #workedAt = 0;
  #nodeBytes: number | undefined;

  /** Resident memory of a process with an idle plugin: the smallest seen after a start. */
  get nodeBytes(): number {
    return this.#nodeBytes ?? ASSUMED_NODE_BYTES;
  }

  /** Records the memory of a process whose plugin has just been loaded. */
  measureStarted({ pid }: Sampled): void {
    try {
      const { residentBytes } = parseStat(readFileSync(`/proc/${pid}/stat`, "latin1"));
      // No plugin reduces it; what one adds is forgotten with the next smaller one.
      if (residentBytes > 0) this.#nodeBytes = Math.min(residentBytes, this.nodeBytes);
    } catch {
      // It has ended, or this system has no /proc.
    }
  }

  /** Samples a process repeatedly. @returns a function that stops it */
  watch(sampled: Sampled): () => void {
    const watched = new Watched(sampled);
    this.#watched.add(watched);
    this.#workedAt = performance.now();
    this.#wait();
    return () => {
      this.#watched.delete(watched);
      watched[Symbol.dispose]();
      if (this.#watched.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Calls `listener` after every look at the processes. @returns a function that stops it */
  afterLook(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #wait(): void {
    const isIdle = performance.now() - this.#workedAt > WORKING_MS;
    this.#timer ??= setTimeout(() => this.#look(), isIdle ? IDLE_LOOK_MS : LOOK_MS).unref();
  }

  #look(): void {
    this.#timer = undefined;
    if (process.platform === "linux") {
      for (const watched of this.#watched) if (watched.look()) this.#workedAt = performance.now();
    } else this.#askPs();
    for (const listener of this.#listeners) listener();
    if (this.#watched.size > 0) this.#wait();
  }

  #askPs(): void {
    const byPid = new Map([...this.#watched].map((watched) => [watched.sampled.pid, watched]));
    execFile("ps", ["-o", "pid=,rss=", "-p", [...byPid.keys()].join(",")], (_error, stdout) => {
      for (const line of stdout.trim().split("\n")) {
        const [pid, kilobytes] = line.trim().split(/\s+/).map(Number);
        const watched = byPid.get(pid ?? 0);
        if (watched && this.#watched.has(watched)) judge(watched.sampled, (kilobytes ?? 0) * 1024);
      }
    });
  }
}
