import type { Limits } from "../limits.ts";
import type { Job } from "../thread/artifact-thread.ts";
import { readRing, type Ring } from "../thread/ring.ts";
import type { SentFiles } from "../tree/file-table.ts";
import { TreeWriter } from "../tree/tree-writer.ts";
import { TarReader } from "./tar-reader.ts";

export interface UnpackJob extends Job {
  loop: "unpack";
  /** Empty folder of mode 0700. */
  folder: string;
  limits: Limits;
  ring: Ring;
}

export interface UnpackedTree {
  entries: number;
  /** Total size of all files, in bytes. */
  bytes: number;
  files: SentFiles;
  /** Empty folders in canonical order. */
  emptyFolders: string[];
}

/**
 * Unpacks the tar that arrives through a ring, and hashes its files. The plaintext is unauthenticated, so it is written
 * to the staging folder only.
 *
 * @param tell called with the bytes of files written so far
 * @throws ArtifactError for faults of the tar, its names or its sizes
 */
export function unpackTar({ folder, limits, ring }: UnpackJob, tell: (bytes: number) => void): UnpackedTree {
  const tree = new TreeWriter(folder, limits);
  const archive = new TarReader(tree);
  try {
    const whole = readRing(ring, (bytes) => {
      archive.push(bytes);
      tell(tree.bytes);
    });
    if (whole) archive.end();
  } finally {
    tree.close();
  }
  return { entries: tree.entries, bytes: tree.bytes, files: tree.files.sent(), emptyFolders: tree.emptyFolders() };
}
