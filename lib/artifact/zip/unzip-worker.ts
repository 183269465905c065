/** The second thread of a ZIP that is unpacked; `unzip-helper.ts` is its other end. */
import { closeSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { asSealiftError } from "../../contract/errors.ts";
import { MemberTable } from "./member-table.ts";
import { BatchQueue, unpackBatches } from "./unzip-batches.ts";
import type { FromUnzipWorker, UnzipWorkerData } from "./unzip-helper.ts";

function unpack({ job, members: { columns, length }, shared }: UnzipWorkerData): FromUnzipWorker {
  const queue = new BatchQueue(job.batches, shared);
  const members = new MemberTable(columns, length);
  const descriptor = openSync(job.path, "r");
  try {
    let written = 0;
    for (const bytes of unpackBatches(descriptor, { ...job, members }, queue)) queue.helperBytes = written += bytes;
    return { type: "done" };
  } catch (error) {
    queue.close();
    const { kind, code, message, hint } = asSealiftError(error, "ArtifactError");
    return { type: "failed", error: { kind, code, message, ...(hint !== undefined && { hint }) } };
  } finally {
    closeSync(descriptor);
  }
}

parentPort!.postMessage(unpack(workerData as UnzipWorkerData));
