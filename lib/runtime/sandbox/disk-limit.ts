import type { PluginStatus } from "../../contract/surfaces/runtime.ts";
import type { Logger } from "../../support/logging.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { diskUsage, unlinkedUsage } from "./disk-usage.ts";
import { LOOK_MS, type MemorySampler } from "./memory-sampler.ts";

const MEGABYTE = 1024 * 1024;
/** Shortest interval of measuring the disk, in milliseconds; a slow measurement delays the next one. */
const INTERVAL_MS = 2 * LOOK_MS;
/** Describes for people how `data/` is limited: by measuring, since the kernel does not, whatever the wall. */
export const DISK_IS_SAMPLED = `data/ is measured every ${INTERVAL_MS} ms, not held by the kernel`;
/** Interval of measuring while the plugin's processes are idle, in milliseconds. */
const IDLE_INTERVAL_MS = 15_000;
/** Largest share of the time spent measuring. */
const SHARE = 1 / 10;

/**
 * Checks the disk space of the folders that a plugin writes, including files that its processes hold open without a
 * name.
 * @param folders real paths; the fault names the first one
 * @returns the bytes that they take
 * @throws RuntimeFault `disk_exceeded`
 */
export async function checkDiskLimit(
  folders: readonly string[],
  maxMb: number,
  pids: readonly number[] = [],
): Promise<number> {
  const maxBytes = maxMb * MEGABYTE;
  let used = pids.reduce((sum, pid) => sum + unlinkedUsage(pid), 0);
  for (const folder of folders) used += await diskUsage(folder, maxBytes - used);
  if (used <= maxBytes) return used;
  const megabytes = (used / MEGABYTE).toFixed(1);
  throw new RuntimeFault(
    "disk_exceeded",
    `The plugin's data takes ${megabytes} MB or more and may take ${maxMb} MB: ` +
      `make room in ${folders[0] ?? ""}, then load it again.`,
  );
}

/** Process that writes; `activity` grows when it has worked, and is undefined where that cannot be seen. */
interface Writer {
  readonly pid: number;
  readonly activity: number | undefined;
}

/** Enforces `max_disk_mb` on a running plugin. */
export class DiskLimit implements Disposable {
  readonly #folders: readonly string[];
  readonly #maxMb: number;
  readonly #logger: Logger;
  #leave: (() => void) | undefined;
  #closed = false;
  #usedBytes: number | undefined;
  #lastLook = 0;
  #nextLook = 0;
  #lastActivity: number | undefined;

  constructor(folders: readonly string[], maxMb: number, logger: Logger) {
    this.#folders = folders;
    this.#maxMb = maxMb;
    this.#logger = logger;
  }

  /** Limit of `data/`, and its size as last measured. */
  get facts(): NonNullable<PluginStatus["disk"]> {
    const used = this.#usedBytes;
    return {
      bound: "sampled",
      interval_ms: INTERVAL_MS,
      max_mb: this.#maxMb,
      ...(used !== undefined && { used_mb: Math.round((used / MEGABYTE) * 10) / 10 }),
    };
  }

  /**
   * Measures repeatedly until disposed of, and less often while nobody works.
   * @param processes of the plugin
   * @param sampler sees whether they work
   * @param onExceeded called for every measurement above the limit
   */
  watch(processes: () => readonly Writer[], sampler: MemorySampler, onExceeded: (fault: RuntimeFault) => void): void {
    if (this.#closed) return;
    this.#leave ??= sampler.afterLook(() => {
      if (performance.now() >= this.#nextLook) this.#look(processes(), onExceeded);
    });
  }

  #look(writers: readonly Writer[], onExceeded: (fault: RuntimeFault) => void): void {
    if (this.#isIdle(writers)) return;
    // Until this look has ended, there is no other.
    this.#nextLook = Infinity;
    const started = (this.#lastLook = performance.now());
    checkDiskLimit(
      this.#folders,
      this.#maxMb,
      writers.map(({ pid }) => pid),
    )
      .then((bytes) => (this.#usedBytes = bytes))
      .catch((error: unknown) => {
        if (this.#closed) return;
        if (error instanceof RuntimeFault) onExceeded(error);
        else this.#logger.warn({ err: error }, "data/ cannot be measured");
      })
      .finally(() => {
        const now = performance.now();
        // A look comes a little early or late.
        this.#nextLook = now + Math.max(INTERVAL_MS - LOOK_MS / 2, (now - started) / SHARE);
      });
  }

  /** True when no process has used the processor since the last look: then none has written much. */
  #isIdle(writers: readonly Writer[]): boolean {
    const activity = writers.reduce((sum, { activity = Number.NaN }) => sum + activity, 0);
    const isIdle = activity === this.#lastActivity && performance.now() - this.#lastLook < IDLE_INTERVAL_MS;
    this.#lastActivity = activity;
    return isIdle;
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#leave?.();
  }
}
