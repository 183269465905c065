import { once } from "node:events";
import { startThread } from "../../../support/thread.ts";
import type { ComponentBatch } from "./sorted-components.ts";

/** Heap of the thread: 100,000 components are held to be sorted. */
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 64 };

/**
 * Reads a large SBOM on a thread, so that requests wait for no part of it but the writing.
 *
 * @throws Error when the thread ends early
 */
export async function* componentsByThread(bytes: Uint8Array): AsyncGenerator<ComponentBatch> {
  const worker = startThread(import.meta.url, "components-worker", bytes, LIMITS);
  const ended = new AbortController();
  worker.once("exit", () => ended.abort(new Error("the thread that reads an SBOM ended early")));
  try {
    for (;;) {
      worker.postMessage("next");
      const [batch] = (await once(worker, "message", { signal: ended.signal })) as [ComponentBatch | undefined];
      if (batch === undefined) return;
      yield batch;
    }
  } finally {
    await worker.terminate();
  }
}
