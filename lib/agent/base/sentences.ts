import { waitSentence } from "../../client/wait-event.ts";
import { counted } from "../../support/counted.ts";
import { sizeText } from "../../support/size-text.ts";
import type { AgentEvent } from "./events.ts";

/**
 * Describes an event of a deployment in a sentence for people; undefined for events that only machines and progress
 * bars use.
 */
export function deploySentence(event: AgentEvent): string | undefined {
  switch (event.event) {
    case "deploy.started":
      if (event.rollback === true)
        return `Going back with ${event.kind} ${event.slug} (${event.requested_version}) in ${event.project_root}`;
      return `Deploying ${event.kind} ${event.slug} (${event.requested_version}) into ${event.project_root}`;
    case "lock.waiting":
      return `Waiting for ${event.holder}`;
    case "hub.waiting":
      return waitSentence(event);
    case "recovery.done":
      return `${event.outcome === "undone" ? "Undid" : "Finished"} an interrupted deployment${event.version === null ? "" : ` of ${event.version}`}`;
    case "resolve.ok":
      return `Version ${event.version}${event.running_version === null ? "" : `, running ${event.running_version}`}`;
    case "delta.chosen": {
      const instead = event.full_size_bytes === null ? "" : ` instead of ${sizeText(event.full_size_bytes)}`;
      return `Delta from ${event.base_version}: ${sizeText(event.size_bytes)}${instead}`;
    }
    case "delta.failed":
      return `The delta from ${event.base_version} was of no use: ${event.reason} Taking the full artifact`;
    case "ahead.used":
      return `Taking ${event.version} as it was fetched ahead, ${sizeText(event.bytes)}`;
    case "ahead.unusable":
      return `${event.version} could not be used as it was fetched ahead: ${event.reason} Fetching it again`;
    case "partial.used":
      return `Going on with ${sizeText(event.bytes)} of ${sizeText(event.size_bytes)} that came before an interruption`;
    case "partial.unusable":
      return `What was kept of ${event.version} could not be used, and was removed: ${event.reason} Fetching all of it`;
    case "partial.kept":
      return `${sizeText(event.bytes)} of ${sizeText(event.size_bytes)} of ${event.version} are kept for the next run`;
    case "fetch.resumed":
      return `Connection lost after ${sizeText(event.bytes)}, going on (${event.reason})`;
    case "fetch.done": {
      const { bytes, kept_bytes: kept = 0 } = event;
      const fetched = kept === 0 ? sizeText(bytes) : `${sizeText(bytes - kept)} of ${sizeText(bytes)}`;
      return `Fetched ${fetched}, unpacked ${counted(event.files, "file")} of ${sizeText(event.unpacked_bytes)}`;
    }
    case "verify.ok":
      return `Verified the ${event.check}`;
    case "trust.followed":
      return `Follows version ${event.version} of the trust root ${event.root_id}, which names ${counted(event.signers.length, "signer")}`;
    case "trust.refused":
      return `warning: The trust root stays as it is (${event.code}): ${event.message}`;
    case "settings.done": {
      const { number, state, code, message, ignored } = event;
      const unused = ignored.length === 0 ? "" : `, without ${ignored.join(", ")}`;
      if (state === "applied") return `Settings number ${number} applied${unused}`;
      const back = state === "not_back" ? ", and what ran before does not work" : "";
      return `warning: Settings number ${number} failed (${code ?? "unknown"})${back}${message === null ? "" : `: ${message}`}`;
    }
    case "settings.refused":
      return `warning: Settings of the fleet (${event.code}): ${event.message}`;
    case "rights.more":
      return `${event.version} asks for more than what runs, which is ${event.accepted ? "agreed to" : "not agreed to"}: ${event.rights.join("; ")}`;
    case "step.done": {
      const { id, action, status, duration_ms: ms, error_message: why } = event.outcome;
      return `Step ${id} (${action}) ${status} in ${ms} ms${why === null ? "" : `: ${why}`}`;
    }
    case "output":
      return `  ${event.source} | ${event.line}`;
    case "switch.done":
      return `Switched to ${event.release}`;
    case "rollback.started":
      return `Rolling back: ${event.reason}`;
    case "rollback.done":
      return event.release === null ? "Rolled back: nothing is installed" : `Rolled back to ${event.release}`;
    case "rollback.asked": {
      const faults = Object.entries(event.units).map(([unit, fault]) => `${unit}: ${fault}`);
      const works = faults.length === 0 ? "works" : `does not work: ${faults.join("; ")}`;
      return `${event.release ?? "What was installed before"} ${works}`;
    }
    case "collect.done":
      return `Removed ${counted(event.removed.length, "old release")}`;
    case "report.written":
      return `Report ${event.path}`;
    case "warning":
      return `warning: ${event.message}`;
    default:
      return undefined;
  }
}
