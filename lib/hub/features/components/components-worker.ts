/** Thread that reads one large SBOM; `components-thread.ts` starts it, and asks for one batch after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { sortedComponents } from "./sorted-components.ts";

const batches = sortedComponents(ReadableStream.from([workerData as Uint8Array]));
parentPort!.on("message", () => {
  void batches.next().then(({ value }) => parentPort!.postMessage(value));
});
