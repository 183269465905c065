import { once } from "node:events";
import { startThread } from "../../../support/thread.ts";
import type { ComponentBatch } from "./sorted-components.ts";

/** Heap of the thread: 100,000 components are held to be sorted. */
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 64 };

/**
 * Reads a large SBOM on a thread, so that requests wait for no part of it but the writing.
 *
 * @throws Error when the thread fails or ends early
 */
export async function* componentsByThread(bytes: Uint8Array): AsyncGenerator<ComponentBatch> {
  const worker = startThread(import.meta.url, "components-worker", bytes, LIMITS);
  const ended = new AbortController();
  // It may also fail while the last batch is written, and nobody waits for it.
  worker.on("error", (error) => ended.abort(error));
  worker.once("exit", () => ended.abort(new Error("the thread that reads an SBOM ended early")));
  try {
    for (;;) {
      ended.signal.throwIfAborted();
      worker.postMessage("next");
      const next = once(worker, "message", { signal: ended.signal }) as Promise<[ComponentBatch | undefined]>;
      const [batch] = await next.catch(() => {
        throw ended.signal.reason;
      });
      if (batch === undefined) return;
      yield batch;
    }
  } finally {
    await worker.terminate();
  }
}
