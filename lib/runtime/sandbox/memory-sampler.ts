import { execFile } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/**
 * Resident memory of sandboxes, sampled: Buffers and WebAssembly memory are outside of V8's heap, so the heap flag does
 * not bind them. A process that has used no processor since the last look is looked at less often.
 */

/** Between two samples of a process that works. */
const SAMPLE_INTERVAL_MS = 125;
/** An idle process is looked at each second time: after 250 ms at most, so that a plugin over its limit ends soon. */
const IDLE_TURNS = 2;
/** Turns after its last work in which a process still counts as working. */
const WORKING_TURNS = 8;
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
  const pages = Number(readFileSync("/proc/self/statm", "latin1").split(" ")[1]);
  return (pageSize ??= 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages)));
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
    const text = ProcessStat.#bytes.toString("latin1", 0, length);
    // The fields from the third on (proc_pid_stat(5)); the second, the program's name, may hold anything.
    const fields = text.slice(text.lastIndexOf(") ") + 2).split(" ");
    return { residentBytes: Number(fields[21]) * bytesInPage(), ticks: Number(fields[11]) + Number(fields[12]) };
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** One watched process, and when it last worked. */
class Watched implements Disposable {
  readonly sampled: Sampled;
  #stat: ProcessStat | undefined;
  #ticks = -1;
  #workedAt = 0;

  constructor(sampled: Sampled) {
    this.sampled = sampled;
  }

  sample(turn: number): void {
    if (turn - this.#workedAt > WORKING_TURNS && turn % IDLE_TURNS !== 0) return;
    const { sampled } = this;
    try {
      // The process is the wall at first, and then what it encloses.
      if (this.#stat?.pid !== sampled.pid) {
        this[Symbol.dispose]();
        this.#stat = new ProcessStat(sampled.pid);
      }
      const { residentBytes, ticks } = this.#stat.read();
      if (ticks !== this.#ticks) {
        this.#ticks = ticks;
        this.#workedAt = turn;
        sampled.activity = (sampled.activity ?? 0) + 1;
      }
      judge(sampled, residentBytes);
    } catch {
      // It has ended.
    }
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
  #timer: NodeJS.Timeout | undefined;
  #turn = 0;

  watch(sampled: Sampled): () => void {
    const watched = new Watched(sampled);
    this.#watched.add(watched);
    this.#timer ??= setInterval(() => this.#sample(), SAMPLE_INTERVAL_MS).unref();
    return () => {
      this.#watched.delete(watched);
      watched[Symbol.dispose]();
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #sample(): void {
    this.#turn++;
    if (process.platform === "linux") {
      for (const watched of this.#watched) watched.sample(this.#turn);
      return;
    }
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
