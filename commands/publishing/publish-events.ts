import { waitSentence } from "../../lib/client/wait-event.ts";
import type { BuildOptions, PublishEvent } from "../../lib/publisher/publish-project.ts";
import type { RetryEvent } from "../../lib/publisher/upload.ts";
import { counted } from "../../lib/support/counted.ts";

/** Limits progress events to what people can read. */
export function sparing(emit: (event: PublishEvent) => void): (event: PublishEvent) => void {
  const last = new Map<string, number>();
  return (event) => {
    if (event.event.endsWith(".progress")) {
      if (Date.now() - (last.get(event.event) ?? 0) < 200) return;
      last.set(event.event, Date.now());
    }
    emit(event);
  };
}

/** Describes an attempt of an upload that was cut, in one line. */
export const retryLine = (event: RetryEvent): string =>
  event.event === "upload.resumed"
    ? `The hub has kept ${counted(event.from_byte, "byte")}: the upload goes on from there.`
    : `${event.message} Uploading again${event.wait_ms > 0 ? ` in ${Math.ceil(event.wait_ms / 1000)} s` : ""}: attempt ${event.attempt} of ${event.attempts}.`;

/** Versions without a delta, by the reason, which most share. */
export type Skipped = Map<string, string[]>;

/** Renders the events of a publication as lines and bars for people. */
export function renderer(
  progress: { line(text: string): void; update(what: string, done: number, total: number): void },
  skipped: Skipped,
): BuildOptions["emit"] {
  const labels = { "scan.progress": "Hashing", "pack.progress": "Packing" };
  return (event) => {
    switch (event.event) {
      case "scan.progress":
      case "pack.progress":
        return progress.update(labels[event.event], event.bytes, event.total_bytes);
      case "upload.progress":
        // One bar at a time: the artifact is uploaded while it is packed.
        return event.total_bytes === null ? undefined : progress.update("Uploading", event.bytes, event.total_bytes);
      case "upload.retrying":
      case "upload.resumed":
        return progress.line(retryLine(event));
      case "hub.waiting":
        return progress.line(waitSentence(event));
      case "scan.done":
        return progress.line(
          `${counted(event.files, "file")}, content ${event.content_sha256.slice(0, 16)}…${event.left_out > 0 ? `, ${event.left_out} left out` : ""}`,
        );
      case "delta.skipped":
        return void skipped.set(event.reason, [...(skipped.get(event.reason) ?? []), event.base_version]);
      case "warning":
        return progress.line(`warning: ${event.message}`);
      case "sign.done":
        return progress.line(`Signed by ${event.signer_public_key}`);
      default:
    }
  };
}
