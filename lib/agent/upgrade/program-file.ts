import { randomBytes } from "node:crypto";
import { chmod, constants, copyFile, link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import { statsOf, syncFolder } from "../../support/files.ts";
import { tryLock } from "../../support/process-lock.ts";

/** The file of a program, and what stands beside it: the former one, and a next one that is being made ready. */
export class ProgramFile implements Disposable {
  readonly path: string;
  readonly #lock: Disposable;

  private constructor(path: string, lock: Disposable) {
    this.path = path;
    this.#lock = lock;
  }

  /**
   * Opens the file to be replaced, and removes what a killed upgrade left.
   *
   * @throws DeploymentError `root_busy` while another upgrade has it open
   */
  static async open(path: string): Promise<ProgramFile> {
    const lock = tryLock(join(dirname(path), `.${basename(path)}.upgrade`));
    if (lock === undefined)
      throw deploymentError("root_busy", `Another upgrade of ${path} is under way.`, {
        hint: "Wait until it has ended, and run the command again.",
      });
    const file = new ProgramFile(path, lock);
    try {
      for (const name of await readdir(dirname(path)))
        if (name.startsWith(file.#temporaryPrefix)) await rm(join(dirname(path), name), { force: true });
      return file;
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }

  /** Path of the program that ran before the last switch. */
  get former(): string {
    return `${this.path}.former`;
  }

  get #temporaryPrefix(): string {
    return `.${basename(this.path)}.next-`;
  }

  #temporary(): string {
    return join(dirname(this.path), this.#temporaryPrefix + randomBytes(6).toString("hex"));
  }

  /** Copies a program durably beside the file, with the file's owner and mode. @returns its path */
  async copyBeside(program: string): Promise<string> {
    const next = this.#temporary();
    const { mode, uid, gid } = await stat(this.path);
    await copyFile(program, next, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await using file = await open(next, "r");
    if (process.getuid?.() === 0) await file.chown(uid, gid);
    await file.chmod((mode & 0o777) | 0o500);
    await file.sync();
    return next;
  }

  /**
   * Moves a program beside the file into its place, and keeps the present one as the former one. If killed at any
   * moment, the file is one of the two, complete.
   */
  async switchTo(next: string): Promise<void> {
    const present = this.#temporary();
    await link(this.path, present);
    await rename(present, this.former);
    // After an upgrade that was killed here, both are one file, and the rename has done nothing.
    await rm(present, { force: true });
    await rename(next, this.path);
    // The former program must not keep a set-user or set-group bit.
    const former = await stat(this.former);
    if ((former.mode & SET_ID) !== 0 && former.ino !== (await stat(this.path)).ino)
      await chmod(this.former, former.mode & 0o777);
    await syncFolder(dirname(this.path));
  }

  /**
   * Swaps the program and the former one.
   *
   * @throws DeploymentError `program_unusable` without a former one
   */
  async switchBack(): Promise<void> {
    const [own, former] = [await stat(this.path), await statsOf(this.former)];
    const hint = "To take another version: sealift upgrade --version VERSION --allow-downgrade";
    if (former === undefined)
      throw deploymentError("program_unusable", `There is no ${this.former}: nothing has been upgraded here.`, {
        hint,
      });
    if (former.ino === own.ino)
      throw deploymentError("program_unusable", `${this.former} is the present program: an upgrade was cut off.`, {
        hint,
      });
    const next = this.#temporary();
    await link(this.former, next);
    await this.switchTo(next);
  }

  /** Tells whether a program has the same bytes as the file. */
  async isSameAs(program: string): Promise<boolean> {
    const [own, other] = [await statsOf(this.path), await statsOf(program)];
    if (own === undefined || own.size !== other?.size) return false;
    await using a = await open(this.path, "r");
    await using b = await open(program, "r");
    const [left, right] = [Buffer.alloc(CHUNK_BYTES), Buffer.alloc(CHUNK_BYTES)];
    for (let at = 0; at < own.size;) {
      const { bytesRead } = await a.read(left, 0, CHUNK_BYTES, at);
      await b.read(right, 0, CHUNK_BYTES, at);
      if (bytesRead === 0 || !left.subarray(0, bytesRead).equals(right.subarray(0, bytesRead))) return false;
      at += bytesRead;
    }
    return true;
  }

  [Symbol.dispose](): void {
    this.#lock[Symbol.dispose]();
  }
}

/** Mode bits by which a program runs as its owner or group. */
const SET_ID = 0o6000;
const CHUNK_BYTES = 1024 * 1024;
