import { startThread } from "../thread.ts";
import type { Parsed } from "./parse-yaml.ts";

/** Time limit for parsing a document, in milliseconds. Within its limits it takes a fraction of a second. */
const DEADLINE_MS = 10_000;
const HEAP_MB = 128;

/** Parses YAML on a thread with a deadline and a limit of its heap. Never rejects. */
export async function parseOnThread(text: string, deadlineMs = DEADLINE_MS): Promise<Parsed> {
  const { promise, resolve } = Promise.withResolvers<Parsed>();
  const worker = startThread(import.meta.url, "yaml-worker", text, { maxOldGenerationSizeMb: HEAP_MB });
  const timer = setTimeout(
    () => resolve({ faults: [`it takes longer than ${deadlineMs / 1000} s to read`] }),
    deadlineMs,
  );
  worker.once("message", (parsed: { value: unknown } | { faults: string[] }) =>
    resolve("faults" in parsed ? parsed : { ...parsed, lineOf: () => "" }),
  );
  worker.once("error", (error: Error) => resolve({ faults: [`it takes too much memory to read (${error.message})`] }));
  worker.once("exit", () => resolve({ faults: ["its reader ended early"] }));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
