import { counted } from "../../support/counted.ts";
import { deploySentence } from "../base/sentences.ts";
import type { WatchEvent } from "./events.ts";

/** End of the sentence about a removed host. */
const REMOVED = " It asks no more, before `sealift watch check TARGET` or a reload of the configuration.";

/**
 * Returns a function that describes an event in one sentence. It remembers what it said, and is quiet while nothing
 * changes.
 */
export function watchSentences(): (event: WatchEvent) => string | undefined {
  const seen = new Set<string>();
  const failing = new Set<string>();

  return (event) => {
    switch (event.event) {
      case "watch.started": {
        const targets = counted(event.targets.length, "target");
        return `watching ${targets}: ${event.targets.map(({ target }) => target).join(", ")}`;
      }
      case "check.done": {
        const first = !seen.has(event.target);
        seen.add(event.target);
        if (failing.delete(event.target)) return `the hub answers again, latest ${event.latest_version ?? "none"}`;
        if (!first && !event.changed) return undefined;
        return `latest ${event.latest_version ?? "none"}, running ${event.running_version ?? "none"}`;
      }
      case "check.failed":
        failing.add(event.target);
        return `check failed (${event.code}): ${event.message}${event.code === "host_removed" ? REMOVED : ""}`;
      case "check.scheduled":
        return event.failures === 0
          ? undefined
          : `asks the hub again in ${Math.max(0, Math.round((Date.parse(event.at) - Date.now()) / 1000))} s`;
      case "target.held":
        return `${event.version} is held back (${event.reason}): ${event.message}`;
      case "target.paused":
        return "paused";
      case "target.resumed":
        return "resumed";
      case "ahead.fetched":
        return `${event.version} is fetched and verified, and waits for its window`;
      case "ahead.failed":
        return `${event.version} could not be fetched ahead (${event.code}): ${event.message}`;
      case "ahead.dropped":
        if (event.reason === "deployed") return undefined;
        return `${event.version}, which was fetched ahead, is not wanted any more`;
      case "health.changed":
        return event.state === "healthy" ? "healthy again" : `unhealthy since ${event.since}: ${event.message}`;
      case "deploy.done": {
        const { outcome, version, previous_version: previous, duration_ms: ms, code, message, rollback } = event;
        if (rollback && outcome === "deployed")
          return `went back to ${version} from ${previous} in ${(ms / 1000).toFixed(1)} s`;
        if (code !== null) return `${outcome} ${version ?? ""} (${code}): ${message}`;
        return `${outcome} ${version}${previous === null ? "" : ` over ${previous}`} in ${(ms / 1000).toFixed(1)} s`;
      }
      case "hints.connected":
        return `${event.hub} tells of new versions at once`;
      case "hints.lost":
        return `no hints from ${event.hub} (${event.code}); checks go on: ${event.message}`;
      case "watch.warning":
        return `warning: ${event.message}`;
      case "watch.stopping":
        return "stopping";
      case "check.started":
      case "action.asked":
      case "deploy.queued":
        return undefined;
      default:
        return deploySentence(event);
    }
  };
}
