import { randomBytes } from "node:crypto";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, statsOf } from "../../support/files.ts";
import { IncomingFile } from "./incoming-file.ts";
import type { IncomingBlob, KeptFile } from "./port.ts";

/** Bytes written as a probe: enough for a full disk to fail. */
const PROBE_BYTES = 4096;
/** Time for which the bytes of a cut upload are kept, in milliseconds. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Ending of files that outlive their request, and their process. */
const KEPT = ".upload";

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

  /**
   * @param keep moves the flushed file durably under its id: then nothing is left at its path
   * @param name under which the file is found again when its upload is cut, or the process dies
   */
  create(keep: (path: string, id: string) => Promise<void>, name?: string): Promise<IncomingBlob> {
    const own = randomBytes(12).toString("hex");
    const path = join(this.#path, name === undefined ? `${own}.part` : `${name}-${own}${KEPT}`);
    return this.#opened(path, "wx+", keep);
  }

  /** Continues a file of this folder at its end. @param keep as for {@link create} */
  reopen(path: string, keep: (path: string, id: string) => Promise<void>): Promise<IncomingBlob> {
    return this.#opened(path, "a+", keep);
  }

  async #opened(
    path: string,
    flags: "wx+" | "a+",
    keep: (path: string, id: string) => Promise<void>,
  ): Promise<IncomingBlob> {
    this.#arriving.add(path);
    try {
      return await IncomingFile.open(path, flags, keep, () => this.#arriving.delete(path));
    } catch (error) {
      this.#arriving.delete(path);
      throw error;
    }
  }

  /** Lists the files of cut uploads whose name begins with `prefix`. */
  async kept(prefix: string): Promise<KeptFile[]> {
    const found: KeptFile[] = [];
    for (const name of await readdir(this.#path)) {
      const path = join(this.#path, name);
      if (!name.startsWith(prefix) || !name.endsWith(KEPT) || this.#arriving.has(path)) continue;
      const facts = await statsOf(path);
      if (facts !== undefined) found.push({ path, bytes: facts.size, since: facts.mtimeMs });
    }
    return found;
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

  /** Removes files that a crash left and nobody writes any more, and kept ones after their time. @returns how many */
  async clear(minAgeMs: number): Promise<number> {
    const now = Date.now();
    let removed = 0;
    for (const name of await readdir(this.#path)) {
      const path = join(this.#path, name);
      if (this.#arriving.has(path)) continue;
      const facts = await statsOf(path);
      const before = now - (name.endsWith(KEPT) ? Math.max(KEPT_MS, minAgeMs) : minAgeMs);
      if (facts === undefined || Math.floor(facts.mtimeMs) > before) continue;
      await rm(path, { force: true, recursive: true });
      removed++;
    }
    return removed;
  }
}
