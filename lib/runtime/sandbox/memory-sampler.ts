import { execFile } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import type { GroupUsage } from "./group-usage.ts";
import { IDLE_ROUNDS, rounds } from "./rounds.ts";

/**
 * Resident memory of sandboxes, sampled: Buffers and WebAssembly memory are outside of V8's heap, so the heap flag does
 * not bind them. A process that has used no processor since the last look is looked at less often. While all of them
 * are idle, one look at their control group stands for a look at each: memory does not grow without the processor.
 */

/** Rounds after its last work in which a process still counts as working. */
const WORKING_ROUNDS = 8;
/** Microseconds of the processor that all processes together may use before they are looked at. */
const UNSEEN_US = 200;
/** Rounds after which they are looked at whatever they have used: five seconds. */
const UNSEEN_ROUNDS = 40;
/** `/proc/PID/stat` is shorter, whatever the program's name is. */
const MAX_STAT_BYTES = 1024;

export interface Sampled {
  pid: number;
  /** Past them `onExceeded` is called. */
  limitBytes: number;
  /** As last seen. */
  residentBytes: number;
  /** Grows when the process has used the processor since the last sample; undefined where that cannot be seen. */
  activity?: number;
  onExceeded(): void;
}

let pageSize: number | undefined;

/** Node does not tell the page's size; this process knows its memory in bytes and in pages. */
function bytesInPage(): number {
  if (pageSize === undefined) {
    const pages = Number(readFileSync("/proc/self/statm", "latin1").split(" ")[1]);
    pageSize = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
  }
  return pageSize;
}

/** Numbers of the fields of `/proc/PID/stat`, from 1 (proc_pid_stat(5)). */
const FIELD = { state: 3, utime: 14, stime: 15, rss: 24 };

/**
 * Reads the memory and the processor time out of `/proc/PID/stat`. Without strings: hundreds of them a second would be
 * most of what an idle runtime does.
 */
export function parseStat(bytes: Uint8Array, length = bytes.length): { residentBytes: number; ticks: number } {
  let field = FIELD.state;
  let value = 0;
  let ticks = 0;
  // The second field, the program's name in parentheses, may hold anything.
  for (let at = bytes.lastIndexOf(0x29, length - 1) + 2; at < length; at++) {
    const byte = bytes[at]!;
    if (byte !== 0x20) {
      value = value * 10 + (byte - 0x30);
      continue;
    }
    if (field === FIELD.utime || field === FIELD.stime) ticks += value;
    if (field === FIELD.rss) return { residentBytes: value * bytesInPage(), ticks };
    field++;
    value = 0;
  }
  throw new Error("/proc/PID/stat is cut short");
}

/** The open `/proc/PID/stat` of a process: a read is one system call, and it never tells of a later process. */
class ProcessStat implements Disposable {
  static readonly #bytes = Buffer.allocUnsafe(MAX_STAT_BYTES);
  readonly pid: number;
  readonly #fd: number;

  /** @throws Error when there is no such process */
  constructor(pid: number) {
    this.pid = pid;
    this.#fd = openSync(`/proc/${pid}/stat`, "r");
  }

  /** @throws Error when the process has ended */
  read(): { residentBytes: number; ticks: number } {
    const length = readSync(this.#fd, ProcessStat.#bytes, 0, MAX_STAT_BYTES, 0);
    return parseStat(ProcessStat.#bytes, length);
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** One watched process, and when it last worked. */
class Watched implements Disposable {
  readonly sampled: Sampled;
  /** Whether the group's usage tells of it. */
  isCounted = false;
  readonly #usage: GroupUsage | undefined;
  #stat: ProcessStat | undefined;
  #ticks = -1;
  #workedAt = -1;
  #nextRound = 0;

  constructor(sampled: Sampled, usage: GroupUsage | undefined) {
    this.sampled = sampled;
    this.#usage = usage;
  }

  /** Looks at the process if it is its turn. @returns whether it works */
  sample(round: number): boolean {
    if (this.#workedAt === -1) this.#workedAt = round;
    if (round < this.#nextRound) return false;
    const { sampled } = this;
    try {
      // The process is the wall at first, and then what it encloses.
      if (this.#stat?.pid !== sampled.pid) {
        this[Symbol.dispose]();
        this.#stat = new ProcessStat(sampled.pid);
        this.isCounted = this.#usage?.has(sampled.pid) ?? false;
      }
      const { residentBytes, ticks } = this.#stat.read();
      if (ticks !== this.#ticks) {
        this.#ticks = ticks;
        this.#workedAt = round;
        sampled.activity = (sampled.activity ?? 0) + 1;
      }
      judge(sampled, residentBytes);
    } catch {
      // It has ended.
    }
    const works = round - this.#workedAt <= WORKING_ROUNDS;
    this.#nextRound = round + (works ? 1 : IDLE_ROUNDS);
    return works;
  }

  [Symbol.dispose](): void {
    this.#stat?.[Symbol.dispose]();
    this.#stat = undefined;
  }
}

function judge(sampled: Sampled, residentBytes: number): void {
  sampled.residentBytes = residentBytes;
  if (residentBytes > sampled.limitBytes) sampled.onExceeded();
}

export class MemorySampler {
  readonly #watched = new Set<Watched>();
  #usage: GroupUsage | undefined;
  #leave: (() => void) | undefined;
  readonly #listeners = new Set<() => void>();
  /** Whether every process has to be looked at in the next round: one works, is new, or is in another group. */
  #isUrgent = true;
  #lookedAt = 0;
  #seenUs = 0;

  /** @param usage of the group that this process shares with those that it starts, where that can be read */
  constructor(usage?: GroupUsage) {
    this.#usage = usage;
  }

  watch(sampled: Sampled): () => void {
    const watched = new Watched(sampled, this.#usage);
    this.#isUrgent = true;
    this.#watched.add(watched);
    this.#leave ??= rounds.join((round) => this.#sample(round));
    return () => {
      this.#watched.delete(watched);
      watched[Symbol.dispose]();
      if (this.#watched.size > 0) return;
      this.#leave?.();
      this.#leave = undefined;
    };
  }

  /** Calls `listener` after every look at the processes: between two, none has worked. @returns what ends that */
  afterLook(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** @returns whether one of the processes works */
  #sample(round: number): boolean {
    if (process.platform === "linux") {
      if (!this.#isDue(round)) return false;
      let works = false;
      let areCounted = true;
      for (const watched of this.#watched) {
        works = watched.sample(round) || works;
        areCounted &&= watched.isCounted;
      }
      this.#isUrgent = works || !areCounted;
      this.#tell();
      return works;
    }
    this.#tell();
    const byPid = new Map([...this.#watched].map((watched) => [watched.sampled.pid, watched]));
    execFile("ps", ["-o", "pid=,rss=", "-p", [...byPid.keys()].join(",")], (_error, stdout) => {
      for (const line of stdout.trim().split("\n")) {
        const [pid, kilobytes] = line.trim().split(/\s+/).map(Number);
        const watched = byPid.get(pid ?? 0);
        if (watched && this.#watched.has(watched)) judge(watched.sampled, (kilobytes ?? 0) * 1024);
      }
    });
    return true;
  }

  /** @returns false while no process has worked since the last look */
  #isDue(round: number): boolean {
    const usedUs = this.#usedUs();
    if (
      usedUs !== undefined &&
      !this.#isUrgent &&
      usedUs - this.#seenUs < UNSEEN_US &&
      round - this.#lookedAt < UNSEEN_ROUNDS
    )
      return false;
    this.#seenUs = usedUs ?? 0;
    this.#lookedAt = round;
    return true;
  }

  #usedUs(): number | undefined {
    try {
      return this.#usage?.othersUs();
    } catch {
      // The group is gone, and what is in another one is looked at by itself.
      this.#usage = undefined;
      return undefined;
    }
  }
}
