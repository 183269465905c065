import type { Logger } from "../../support/logging.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { diskUsage } from "./folder-scan.ts";

const MEGABYTE = 1024 * 1024;
/** Between two looks at the size of data/, at least; a slow look makes the next one later. */
const INTERVAL_MS = 1000;

/** Holds the folders that a plugin writes to its `max_disk_mb`. */
export class DiskLimit implements Disposable {
  readonly #folders: readonly string[];
  readonly #maxMb: number;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param folders real paths; the first one is named in the fault */
  constructor(folders: readonly string[], maxMb: number, logger: Logger) {
    this.#folders = folders;
    this.#maxMb = maxMb;
    this.#logger = logger;
  }

  /** @throws RuntimeFault `disk_exceeded` */
  async check(): Promise<void> {
    let used = 0;
    for (const folder of this.#folders) used += await diskUsage(folder);
    if (used <= this.#maxMb * MEGABYTE) return;
    const megabytes = (used / MEGABYTE).toFixed(1);
    throw new RuntimeFault(
      "disk_exceeded",
      `The plugin's data takes ${megabytes} MB and may take ${this.#maxMb} MB: ` +
        `make room in ${this.#folders[0] ?? ""}, then load it again.`,
    );
  }

  /** Checks again and again until it is disposed of. @param onExceeded hears of every check that finds too much */
  watch(onExceeded: (fault: RuntimeFault) => void, delayMs: number = INTERVAL_MS): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      const started = performance.now();
      this.check()
        .catch((error: unknown) => {
          if (error instanceof RuntimeFault) onExceeded(error);
          else this.#logger.warn({ err: error }, "data/ cannot be measured");
        })
        .finally(() => this.watch(onExceeded, Math.max(INTERVAL_MS, 20 * (performance.now() - started))));
    }, delayMs).unref();
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }
}
