import { execFile } from "node:child_process";
import { lstat, readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { missing } from "../support/files.ts";

/** Disk space of the files in some folders. */
export interface DiskUse {
  /** Bytes of all files; shared ones count once, if that is known. */
  bytes: number;
  /** Whether the file system shares bytes between files: yes and they were counted, no, or unknown. */
  sharing: "counted" | "none" | "unknown";
}

/** Types of file systems that can share blocks between files, as `statfs` reports them. */
const WITH_REFLINKS = new Set([0x58465342, 0x9123683e, 0xca451a4e, 0x7461636f]); // xfs, btrfs, bcachefs, ocfs2

/** Files per call of `filefrag`. */
const FILES_PER_CALL = 500;
/** Time limit of one call, in milliseconds. */
const CALL_TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Measures the disk space of the files below some folders. Bytes shared by reflink count once where the file system
 * supports that, by means of `filefrag` from e2fsprogs, since Node has no call for it. Follows no links.
 */
export async function diskUse(folders: readonly string[]): Promise<DiskUse> {
  const files: string[] = [];
  let bytes = 0;
  for (const folder of folders)
    for await (const { path, size } of filesBelow(folder)) {
      files.push(path);
      bytes += size;
    }
  if (folders.length === 0 || !WITH_REFLINKS.has((await statfs(folders[0]!)).type)) return { bytes, sharing: "none" };
  const extents = new Extents();
  try {
    for (let from = 0; from < files.length; from += FILES_PER_CALL)
      extents.add(await filefrag(files.slice(from, from + FILES_PER_CALL)));
  } catch {
    // Not installed, not permitted, or a file vanished meanwhile: sharing is unknown, and the sum is an upper bound.
    return { bytes, sharing: "unknown" };
  }
  return { bytes: extents.bytes(), sharing: "counted" };
}

/** Yields the files below a folder with their sizes in bytes; leaves out those that vanish meanwhile. */
export async function* filesBelow(folder: string): AsyncGenerator<{ path: string; size: number }> {
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) yield* filesBelow(path);
      else if (entry.isFile()) yield { path, size: (await lstat(path)).size };
    }
  } catch (error) {
    if (!missing(error)) throw error;
  }
}

async function filefrag(files: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("filefrag", ["-b1", "-v", ...files], {
    // It is among the programs of administrators, which others do not have in their path.
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, LC_ALL: "C" },
    timeout: CALL_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  return stdout;
}

/** Extents of files, as listed by `filefrag -b1 -v`. */
export class Extents {
  #own = 0;
  /** Places on the disk that several files may share. */
  readonly #shared: { start: number; end: number }[] = [];

  /** Adds the output of one call. */
  add(output: string): void {
    let size = 0;
    for (const line of output.split("\n")) {
      size = Number(/^File size of .* is (\d+) \(\d+ blocks? of 1 bytes\)$/.exec(line)?.[1] ?? size);
      const extent = /^ *\d+: +(\d+)\.\. *(\d+): +(\d+)\.\..*: *(\S*)$/.exec(line);
      if (extent === null) continue;
      const [from, to, start] = extent.slice(1, 4).map(Number) as [number, number, number];
      // The last block is not full: counted without its rest, unshared files take the sum of their sizes.
      const length = Math.max(0, Math.min(to + 1, size) - from);
      if (extent[4]!.split(",").includes("shared")) this.#shared.push({ start, end: start + length });
      else this.#own += length;
    }
  }

  /** Returns the bytes of all extents; shared ones count once. */
  bytes(): number {
    let total = this.#own;
    let reached = 0;
    for (const { start, end } of this.#shared.toSorted((a, b) => a.start - b.start)) {
      total += Math.max(0, end - Math.max(start, reached));
      reached = Math.max(reached, end);
    }
    return total;
  }
}
