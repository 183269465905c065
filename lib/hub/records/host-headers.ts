import type { IncomingHttpHeaders } from "node:http";
import { type Labels, labelsIn } from "../../contract/labels.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { NOTHING } from "../../contract/surfaces/host-record.ts";

const LABELS = HEADERS.labels.toLowerCase();
const RUNNING = HEADERS.running.toLowerCase();
/** Longest header with labels that is parsed, in characters. */
const MAX_LABELS_CHARACTERS = 4096;
const MAX_VERSION_CHARACTERS = 128;

/** Reads the version that a host claims to run: null for none, undefined if it makes no claim. */
export function claimedVersion(headers: IncomingHttpHeaders): string | null | undefined {
  const given = headers[RUNNING];
  if (typeof given !== "string" || given === "" || given.length > MAX_VERSION_CHARACTERS) return undefined;
  return given === NOTHING ? null : given;
}

/** Reads the labels that a host claims in a header; undefined without any. */
export function claimedLabels(headers: IncomingHttpHeaders): Labels | undefined {
  const given = headers[LABELS];
  return typeof given === "string" && given.length <= MAX_LABELS_CHARACTERS ? labelsIn(given) : undefined;
}
