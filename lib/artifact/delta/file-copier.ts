import { createHash, hash } from "node:crypto";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { writeNewFile } from "../tree/new-file.ts";
import { quoted } from "../tree/safe-path.ts";
import { Reflinks } from "./reflinks.ts";
import { RegularFile } from "./regular-file.ts";

/** Size above which files are copied in pieces, in bytes. */
export const LARGE_FILE_BYTES = 1024 * 1024;

/** File of the base that the new tree takes unchanged. */
export interface FileCopy {
  /** Path in the base, for messages. */
  path: string;
  from: string;
  to: string;
  executable: boolean;
  /** Size in bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
}

export const baseChanged = (path: string, why: string): SealiftError =>
  artifactError("delta_base_changed", `${quoted(path)} of the running release ${why}.`, {
    hint: "Hosts take the full artifact instead. A plugin should write below its data/ only.",
  });
export const otherSize = (path: string): SealiftError => baseChanged(path, "has another size");

/** Requires that the digest found is the file's. @throws ArtifactError `delta_base_changed` */
export function checkCopied({ path, sha256 }: Pick<FileCopy, "path" | "sha256">, found: string): void {
  if (found !== sha256) throw baseChanged(path, "was changed since it was installed");
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Copies files of a base one by one, by reflink where the file system can, otherwise through memory. Hashes each. */
export class FileCopier {
  /** Buffer with one byte more than a small file may have, so that a longer one is noticed. */
  readonly #buffer = Buffer.allocUnsafeSlow(LARGE_FILE_BYTES + 1);
  readonly reflinks = new Reflinks();

  /**
   * Copies a file of at most {@link LARGE_FILE_BYTES}.
   *
   * @returns the modification time of the new file, in milliseconds
   * @throws ArtifactError `delta_base_changed`
   */
  copy(file: FileCopy): number {
    const cloned = this.reflinks.mayWork ? this.#clone(file) : undefined;
    if (cloned !== undefined) return cloned;
    // Hashes the bytes that are written, so that nobody can change them in between.
    const content = this.#read(file);
    checkCopied(file, hash("sha256", content, "hex"));
    return writeNewFile(file.to, content, file.executable);
  }

  #clone(file: FileCopy): number | undefined {
    const { path, from, to, size, executable } = file;
    {
      using _regular = new RegularFile(from, size, () => otherSize(path));
      if (!this.reflinks.clone(from, to, executable)) return undefined;
    }
    using clone = new RegularFile(to, size, () => otherSize(path));
    const digest = createHash("sha256");
    for (const block of clone.range(0, size, this.#buffer)) digest.update(block);
    checkCopied(file, digest.digest("hex"));
    return clone.mtimeMs;
  }

  #read({ path, from, size }: FileCopy): Buffer {
    let descriptor: number | undefined;
    let bytes = 0;
    try {
      descriptor = openSync(from, READ);
      // Reading one byte more than expected reveals a file that is longer.
      let read: number;
      do {
        read = readSync(descriptor, this.#buffer, bytes, size + 1 - bytes, null);
        bytes += read;
      } while (read > 0 && bytes < size);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EMFILE" || code === "ENFILE") throw error;
      throw otherSize(path);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
    if (bytes !== size) throw otherSize(path);
    return this.#buffer.subarray(0, size);
  }
}
