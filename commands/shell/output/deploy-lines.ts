import type { Writable } from "node:stream";
import type { AgentEvent, Emit } from "../../../lib/agent/base/events.ts";
import { deploySentence } from "../../../lib/agent/base/sentences.ts";
import { openProgress } from "./progress.ts";

/** Renders the agent's events as plain lines for people, with a progress bar on a terminal. */
export async function deployLines(stream: Writable & { isTTY?: boolean }): Promise<{ emit: Emit; close: () => void }> {
  const progress = await openProgress(stream);
  const emit = (event: AgentEvent): void => {
    if (event.event === "fetch.progress") return progress.update("Fetching", event.bytes, event.size_bytes ?? 0);
    if (event.event === "fetch.done") progress.stop();
    const sentence = deploySentence(event);
    if (sentence !== undefined) progress.line(sentence);
  };
  return { emit, close: () => progress.stop() };
}
