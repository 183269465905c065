/**
 * The second thread of an opening artifact: tar → files with their digests. It is given the decompressed plaintext,
 * which is still unauthenticated, and writes to the staging folder only. `unpacker.ts` is its other end. While bytes
 * come, it is a plain loop without an event loop (docs/decisions/0018-ring.md).
 */
import { parentPort, workerData } from "node:worker_threads";
import { artifactError, asSealiftError, SealiftError } from "../../contract/errors.ts";
import { FileCopier } from "../delta/file-copier.ts";
import type { Limits } from "../limits.ts";
import { plainError } from "../plain-error.ts";
import { NewFile } from "../tree/new-file.ts";
import { TreeWriter } from "../tree/tree-writer.ts";
import { readRing, type Ring } from "./ring.ts";
import { TarReader } from "./tar-reader.ts";
import type { FromWorker, ToWorker } from "./unpacker.ts";

const port = parentPort!;
const { folder, limits, ring, progress } = workerData as WorkerData;
const tell = (message: FromWorker): void => port.postMessage(message);

/** The data that the thread is started with. */
export interface WorkerData {
  folder: string;
  limits: Limits;
  ring: Ring;
  /** One number of 64 bits: bytes of files written so far. */
  progress: SharedArrayBuffer;
}

const tree = new TreeWriter(folder, limits);
const written = new BigInt64Array(progress);

function explain(error: unknown): SealiftError {
  if (error instanceof SealiftError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENAMETOOLONG" || code === "EEXIST" || code === "EILSEQ")
    return artifactError("member_unsafe", `This file system cannot hold a member: ${message}.`, { cause: error });
  return asSealiftError(error, "ArtifactError");
}

function unpack(): void {
  const archive = new TarReader(tree);
  try {
    const whole = readRing(ring, (bytes) => {
      archive.push(bytes);
      Atomics.store(written, 0, BigInt(tree.bytes));
    });
    if (whole) archive.end();
    tell({ type: "unpacked", entries: tree.entries, files: tree.files.length, bytes: tree.bytes });
  } catch (error) {
    tell({ type: "failed", error: plainError(explain(error)) });
  } finally {
    tree.close();
  }
}

/** Runs a step and tells its end. */
function carryOut(step: () => Float64Array | void): void {
  try {
    tell({ type: "done", error: null, times: step() ?? null });
  } catch (thrown) {
    tell({ type: "done", error: plainError(explain(thrown)) });
  }
}

let copier: FileCopier | undefined;

unpack();

port.on("message", (message: ToWorker) => {
  switch (message.type) {
    case "tree": {
      const { files } = tree;
      files.remove(message.except);
      tell({
        type: "tree",
        content: files.digest(),
        folders: Object.fromEntries(message.folders.map((name) => [name, files.digestOfFolder(name) ?? null])),
        files: { columns: files.columns, length: files.length },
        emptyFolders: tree.emptyFolders(),
      });
      break;
    }
    case "copy":
      carryOut(() => {
        copier ??= new FileCopier();
        return copier.copy(message.files);
      });
      break;
    case "write":
      carryOut(() => {
        using file = new NewFile(message.path, message.executable);
        readRing(message.ring, (bytes) => file.write(bytes));
      });
      break;
  }
});
