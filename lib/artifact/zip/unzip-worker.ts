/** The second thread of a ZIP that is unpacked; `unzip-thread.ts` is its other end. */
import { closeSync, openSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { asSealiftError } from "../../contract/errors.ts";
import { plainError } from "../plain-error.ts";
import { scanZip, type ZipIndex } from "./directory.ts";
import { BatchQueue, unpackBatches } from "./unzip-batches.ts";
import type { FromUnzipWorker, ToUnzipWorker } from "./unzip-thread.ts";

const port = parentPort!;
let index: ZipIndex | undefined;

async function scan({ path, options }: ToUnzipWorker & { type: "scan" }): Promise<FromUnzipWorker> {
  index = await scanZip(path, options);
  const { files, ...rest } = index;
  return { type: "scanned", index: { ...rest, files: { columns: files.columns, length: files.length } } };
}

function unpack({ path, folder, batches, shared }: ToUnzipWorker & { type: "unpack" }): FromUnzipWorker {
  const { files: members, topFolder } = index!;
  const queue = new BatchQueue(batches, shared);
  const descriptor = openSync(path, "r");
  try {
    const job = { path, folder, members, files: members.filesWithin(topFolder), batches };
    let written = 0;
    for (const bytes of unpackBatches(descriptor, job, queue)) queue.helperBytes = written += bytes;
    return { type: "done" };
  } catch (error) {
    queue.close();
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

async function answer(message: ToUnzipWorker): Promise<FromUnzipWorker> {
  try {
    return message.type === "scan" ? await scan(message) : unpack(message);
  } catch (error) {
    return { type: "failed", error: plainError(asSealiftError(error, "ArtifactError")) };
  }
}

port.on("message", (message: ToUnzipWorker) => {
  void answer(message).then((found) => {
    port.postMessage(found);
    // Nothing follows: the thread ends.
    if (found.type !== "scanned") port.close();
  });
});
