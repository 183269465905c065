/** The second thread of a ZIP that is unpacked; `unzip-helper.ts` is its other end. */
import { closeSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { asSealiftError } from "../contract/errors.ts";
import { TreeWriter } from "./tree-writer.ts";
import { BatchQueue, unpackBatches } from "./unzip-batches.ts";
import type { FromUnzipWorker, UnzipWorkerData } from "./unzip-helper.ts";

const job = workerData as UnzipWorkerData;
const tell = (message: FromUnzipWorker): void => parentPort!.postMessage(message);

const queue = new BatchQueue(job.batches, job.shared);
const tree = new TreeWriter(job.folder, job.limits);
const descriptor = openSync(job.path, "r");
try {
  for (const _batch of unpackBatches(descriptor, job, queue, tree)) queue.helperBytes = tree.bytes;
  tell({ type: "done", files: tree.files.entries() });
} catch (error) {
  queue.close();
  const { kind, code, message, hint } = asSealiftError(error, "ArtifactError");
  tell({ type: "failed", error: { kind, code, message, ...(hint !== undefined && { hint }) } });
} finally {
  tree.close();
  closeSync(descriptor);
}
