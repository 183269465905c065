import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { artifactError } from "../../contract/errors.ts";
import { collectAfter, overMany } from "../../support/buffer-pacing.ts";
import type { FileTable } from "../tree/file-table.ts";
import { NewFile } from "../tree/new-file.ts";
import { type ScanOptions, scanZip, type ZipIndex } from "./directory.ts";
import type { ZipMember } from "./member-table.ts";
import { batchesOf, BatchQueue, unpackBatches } from "./unzip-batches.ts";
import { isSmall, largeContent } from "./unzip-member.ts";
import { UnzipThread } from "./unzip-thread.ts";

/** With fewer batches the start of a thread takes longer than what it would do. */
const HELPED_BATCHES = 16;

export interface UnzipOptions extends ScanOptions {
  /** A thread that was started while the archive came: it is ended here. Default: one for a large archive. */
  thread?: UnzipThread;
  signal?: AbortSignal;
  /** Called when every check of the archive as a whole has passed, before the first byte is unpacked. */
  onScanned?: (index: ZipIndex) => void;
  /** Called now and then with the bytes of files written so far. */
  onUnpacked?: (bytes: number) => void;
}

export interface Unzipped {
  /** The files, under the paths that they have now. */
  files: FileTable;
  bytes: number;
}

/**
 * Checks an archive as a whole (`scanZip`) and unpacks it into an empty, private folder; a single top folder is
 * flattened. Sizes and CRCs are checked on what comes out. Small files are unpacked in batches, many of them by two
 * threads.
 *
 * @throws ArtifactError what `scanZip` throws, and `zip_invalid` for bytes that are not what the archive says
 */
export async function unzip(path: string, folder: string, options: UnzipOptions): Promise<Unzipped> {
  const { signal, onUnpacked } = options;
  await using thread = options.thread ?? UnzipThread.for(statSync(path).size);
  const index = await (thread === undefined ? scanZip(path, options) : thread.scan(path, options, signal));
  signal?.throwIfAborted();
  options.onScanned?.(index);
  const { files: members, topFolder } = index;
  collectAfter(members.length);
  using _heap = overMany(members.length);
  const strip = topFolder === undefined ? 0 : topFolder.length + 1;
  for (const name of index.folders)
    if (name.length > strip) mkdirSync(`${folder}/${name.slice(strip)}`, { mode: 0o755 });

  const files = members.filesWithin(topFolder);
  const batches = batchesOf(members);
  const queue = new BatchQueue(batches);
  const job = { path, folder, members, files, batches };
  const helper = batches.length >= HELPED_BATCHES && availableParallelism() > 1 ? thread : undefined;
  let written = 0;
  helper?.help(job, queue);
  const turn = async (bytes: number): Promise<void> => {
    written += bytes;
    onUnpacked?.(written + queue.helperBytes);
    await nextTurn();
    signal?.throwIfAborted();
    helper?.check();
  };
  const descriptor = openSync(path, "r");
  try {
    for (let at = 0; at < members.length; at++) {
      if (isSmall(members.sizesOf(at))) continue;
      const member = members.at(at);
      files.wrote(at, await unpackLarge(path, `${folder}/${files.pathAt(at)}`, member, signal));
      await turn(member.uncompressedSize);
    }
    // Writing is synchronous: signals and progress come through now and then.
    for (const bytes of unpackBatches(descriptor, job, queue)) await turn(bytes);
    await helper?.end();
  } finally {
    closeSync(descriptor);
  }
  if (queue.closed) throw artifactError("internal", "Unpacking ended before its last file.");
  const bytes = written + queue.helperBytes;
  onUnpacked?.(bytes);
  return { files, bytes };
}

async function unpackLarge(
  archive: string,
  path: string,
  member: ZipMember,
  signal?: AbortSignal,
): Promise<{ sha256: Buffer }> {
  const hash = createHash("sha256");
  using file = new NewFile(path, member.executable);
  const write = (chunk: Buffer): void => {
    hash.update(chunk);
    file.write(chunk);
  };
  await largeContent(archive, member, write, signal);
  return { sha256: hash.digest() };
}
