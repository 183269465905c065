import type { Writable } from "node:stream";
import type { AgentEvent, Emit } from "../../lib/agent/events.ts";
import { openProgress, sizeText } from "./progress.ts";

/** The agent's events as plain lines for people, with a progress bar where there is a terminal. */
export function deployLines(stream: Writable & { isTTY?: boolean }): { emit: Emit; close: () => void } {
  const progress = openProgress(stream);
  const line = (text: string): void => progress.line(text);
  const emit = (event: AgentEvent): void => {
    switch (event.event) {
      case "deploy.started":
        return line(`Deploying ${event.kind} ${event.slug} (${event.requested_version}) into ${event.project_root}`);
      case "lock.waiting":
        return line(`Waiting for ${event.holder}`);
      case "recovery.done":
        return line(`Undid an interrupted deployment${event.version === null ? "" : ` of ${event.version}`}`);
      case "resolve.ok":
        return line(
          `Version ${event.version}${event.running_version === null ? "" : `, running ${event.running_version}`}`,
        );
      case "fetch.progress":
        return progress.update("Fetching", event.bytes, event.size_bytes ?? 0);
      case "fetch.resumed":
        return line(`Connection lost after ${sizeText(event.bytes)}, going on (${event.reason})`);
      case "fetch.done":
        progress.stop();
        return line(
          `Fetched ${sizeText(event.bytes)}, unpacked ${event.files} files of ${sizeText(event.unpacked_bytes)}`,
        );
      case "verify.ok":
        return line(`Verified the ${event.check}`);
      case "step.done": {
        const { id, action, status, duration_ms: ms, error_message: why } = event.outcome;
        return line(`Step ${id} (${action}) ${status} in ${ms} ms${why === null ? "" : `: ${why}`}`);
      }
      case "output":
        return line(`  ${event.source} | ${event.line}`);
      case "switch.done":
        return line(`Switched to ${event.release}`);
      case "rollback.started":
        return line(`Rolling back: ${event.reason}`);
      case "rollback.done":
        return line(event.release === null ? "Rolled back: nothing is installed" : `Rolled back to ${event.release}`);
      case "collect.done":
        return line(`Removed ${event.removed.length} old release${event.removed.length === 1 ? "" : "s"}`);
      case "report.written":
        return line(`Report ${event.path}`);
      case "warning":
        return line(`warning: ${event.message}`);
      default:
    }
  };
  return { emit, close: () => progress.stop() };
}
