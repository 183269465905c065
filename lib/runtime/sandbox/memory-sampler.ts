import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Resident memory of sandboxes, sampled: Buffers and WebAssembly memory are outside of V8's heap, so the heap flag does not bind
 * them.
 */

/** Between two samples: 250 ms at most, so that a plugin over its limit ends soon. */
export const SAMPLE_INTERVAL_MS = 100;

export interface Sampled {
  pid: number;
  /** Past them `onExceeded` is called. */
  limitBytes: number;
  /** As last seen. */
  residentBytes: number;
  onExceeded(): void;
}

const residentPages = (pid: number | "self"): number =>
  Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]);

let pageSize: number | undefined;

function residentFromProc(pid: number): number | undefined {
  try {
    // Node does not tell the page's size; this process knows its memory in bytes and in pages.
    pageSize ??= 2 ** Math.round(Math.log2(process.memoryUsage.rss() / residentPages("self")));
    return residentPages(pid) * pageSize;
  } catch {
    return undefined;
  }
}

export class MemorySampler {
  readonly #watched = new Set<Sampled>();
  #timer: NodeJS.Timeout | undefined;

  watch(sampled: Sampled): () => void {
    this.#watched.add(sampled);
    this.#timer ??= setInterval(() => this.#sample(), SAMPLE_INTERVAL_MS).unref();
    return () => {
      this.#watched.delete(sampled);
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #sample(): void {
    if (process.platform === "linux") {
      for (const sampled of this.#watched) this.#judge(sampled, residentFromProc(sampled.pid));
      return;
    }
    const byPid = new Map([...this.#watched].map((sampled) => [sampled.pid, sampled]));
    execFile("ps", ["-o", "pid=,rss=", "-p", [...byPid.keys()].join(",")], (_error, stdout) => {
      for (const line of stdout.trim().split("\n")) {
        const [pid, kilobytes] = line.trim().split(/\s+/).map(Number);
        const sampled = byPid.get(pid ?? 0);
        if (sampled && this.#watched.has(sampled)) this.#judge(sampled, (kilobytes ?? 0) * 1024);
      }
    });
  }

  #judge(sampled: Sampled, residentBytes: number | undefined): void {
    if (residentBytes === undefined || Number.isNaN(residentBytes)) return;
    sampled.residentBytes = residentBytes;
    if (residentBytes > sampled.limitBytes) sampled.onExceeded();
  }
}
