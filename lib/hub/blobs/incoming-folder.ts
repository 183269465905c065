import { randomBytes } from "node:crypto";
import { open, readdir, rename, rm, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ifThere, makeFolder, statsOf } from "../../support/files.ts";
import { IncomingFile } from "./incoming-file.ts";
import type { IncomingBlob, KeptFile } from "./port.ts";

/** Bytes written as a probe: enough for a full disk to fail. */
const PROBE_BYTES = 4096;
/** Time for which the bytes of a cut upload are kept, in milliseconds. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/**
 * Endings of files that outlive their request. One that is written, `NAME.growing`, becomes `NAME.upload` when it is
 * kept, and `NAME.growing` again when it is continued: what is removed meanwhile is never a file that grows.
 */
const [GROWING, KEPT] = [".growing", ".upload"] as const;
/** Time without a byte after which a file of another process grows no more, in milliseconds: its process has ended. */
const GROWS_MS = 10 * 60 * 1000;

/** Moves the flushed file durably under its id: then nothing is left at its path. */
type Adopt = (path: string, id: string) => Promise<void>;

/** Local folder in which uploads arrive, wherever they are stored afterwards. Several hubs may share it. */
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

  /** @param name under which the file is found again when its upload is cut, or the process dies */
  create(adopt: Adopt, name?: string): Promise<IncomingBlob> {
    const own = randomBytes(12).toString("hex");
    if (name === undefined) return this.#opened(join(this.#path, `${own}.part`), "wx+", adopt);
    return this.#opened(join(this.#path, `${name}-${own}${GROWING}`), "wx+", adopt);
  }

  /** Continues a kept file at its end. @returns undefined when it is there no more: somebody else has it */
  async reopen(path: string, adopt: Adopt): Promise<IncomingBlob | undefined> {
    const growing = withEnding(path, GROWING);
    const now = new Date();
    // Its last byte may be hours old, and others would take it for a dead process's. Whoever renames it has it.
    const taking = utimes(path, now, now).then(() => rename(path, growing));
    const isTaken = (await ifThere(taking.then(() => true))) ?? false;
    return isTaken ? this.#opened(growing, "r+", adopt) : undefined;
  }

  async #opened(path: string, flags: "wx+" | "r+", adopt: Adopt): Promise<IncomingBlob> {
    this.#arriving.add(path);
    try {
      return await IncomingFile.open(path, flags, {
        adopt,
        kept: withEnding(path, KEPT),
        onGone: () => this.#arriving.delete(path),
        makeRoom: () => this.#makeRoom(),
      });
    } catch (error) {
      this.#arriving.delete(path);
      throw error;
    }
  }

  /** Lists the files of cut uploads whose name begins with `prefix`, and those that other processes write or left. */
  async kept(prefix: string): Promise<KeptFile[]> {
    const found: KeptFile[] = [];
    for (const name of await readdir(this.#path)) {
      const path = join(this.#path, name);
      const isNamed = name.endsWith(KEPT) || name.endsWith(GROWING);
      if (!isNamed || !name.startsWith(prefix) || this.#arriving.has(path)) continue;
      const facts = await statsOf(path);
      if (facts === undefined) continue;
      const grows = name.endsWith(GROWING) && Date.now() - facts.mtimeMs < GROWS_MS;
      found.push({ path, bytes: facts.size, since: facts.mtimeMs, grows });
    }
    return found;
  }

  /** Removes all kept files, whose bytes would only spare a second upload. @returns whether there were any */
  async #makeRoom(): Promise<boolean> {
    const kept = (await this.kept("")).filter(({ grows }) => !grows);
    for (const { path } of kept) await rm(path, { force: true });
    return kept.length > 0;
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
      const isNamed = name.endsWith(KEPT) || name.endsWith(GROWING);
      const before = now - (isNamed ? Math.max(KEPT_MS, minAgeMs) : minAgeMs);
      if (facts === undefined || Math.floor(facts.mtimeMs) > before) continue;
      await rm(path, { force: true, recursive: true });
      removed++;
    }
    return removed;
  }
}

/** Returns the path of a named file with another ending. */
const withEnding = (path: string, ending: typeof GROWING | typeof KEPT): string =>
  join(dirname(path), basename(path).replace(/\.\w+$/, ending));
