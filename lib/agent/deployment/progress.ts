import type { AgentEvent, Emit } from "./events.ts";

/** Progress is said at most this often. Milliseconds. */
const PROGRESS_INTERVAL_MS = 200;

/** Emits what `make` gives, but not more often than people can read. */
export function throttled(emit: Emit, make: () => AgentEvent): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - last < PROGRESS_INTERVAL_MS) return;
    last = now;
    emit(make());
  };
}
