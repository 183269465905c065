import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, statsOf } from "../../support/files.ts";
import { IncomingFile } from "./incoming-file.ts";
import type { IncomingBlob } from "./port.ts";

/** Bytes written as a probe: enough for a full disk to fail. */
const PROBE_BYTES = 4096;

/** Local folder in which uploads arrive, wherever they are stored afterwards. */
export class IncomingFolder {
  readonly #path: string;
  /** Files of this process, which are not leftovers however old they are. */
  readonly #arriving = new Set<string>();

  constructor(path: string) {
    this.#path = path;
  }

  async prepare(): Promise<void> {
    await makeFolder(this.#path, 0o700);
  }

  /** @param keep moves the flushed file durably under its id: then nothing is left at its path */
  async create(keep: (path: string, id: string) => Promise<void>): Promise<IncomingBlob> {
    const file = await IncomingFile.create(this.#path, keep, () => this.#arriving.delete(file.path));
    this.#arriving.add(file.path);
    return file;
  }

  /** Probes the folder. Rejects when it cannot be written, or its disk is full. */
  async check(): Promise<void> {
    const path = join(this.#path, `${process.pid}.probe`);
    try {
      await using file = await open(path, "w", 0o600);
      await file.write(Buffer.alloc(PROBE_BYTES));
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Removes files that a crash left and nobody writes any more. @returns how many */
  async clear(minAgeMs: number): Promise<number> {
    const before = Date.now() - minAgeMs;
    let removed = 0;
    for (const name of await readdir(this.#path)) {
      const path = join(this.#path, name);
      if (this.#arriving.has(path)) continue;
      const facts = await statsOf(path);
      if (facts === undefined || Math.floor(facts.mtimeMs) > before) continue;
      await rm(path, { force: true, recursive: true });
      removed++;
    }
    return removed;
  }
}
