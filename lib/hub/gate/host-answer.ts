import type { IncomingHttpHeaders } from "node:http";
import { type Labels, labelsIn } from "../../contract/labels.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { NOTHING, runningVersion } from "../../contract/surfaces/host-record.ts";
import type { FleetKey } from "../records/fleet.ts";
import type { StoredRecord } from "../records/host-columns.ts";
import type { PollingHost } from "../records/polling-host.ts";
import { hostOf, type Sightings } from "../records/sightings.ts";
import { answerTo, type AskingHost, type HostAnswer } from "./answer.ts";
import { gateOf } from "./stored-gate.ts";

const LABELS = HEADERS.labels.toLowerCase();
const RUNNING = HEADERS.running.toLowerCase();
/** Longest header with labels that is parsed, in characters. */
const MAX_LABELS_CHARACTERS = 4096;
const MAX_VERSION_CHARACTERS = 128;

/** Facts of a target that its answer to a host needs, as read by the poll's statement. */
interface AskedTarget {
  /** Greatest open version. */
  latestVersion: string | null;
  /** Gate, as JSON; null where every host gets the same answer. */
  gate: string | null;
  /** Newest version of the trust root; null for none. Omitted on surface A, whose detail record says it. */
  rootVersion?: number | null;
  /** Requesting host, where there is a gate and the host is in the view. */
  host: PollingHost | undefined;
}

/** Relation of the caller to the owner of the target. */
export interface AskedBy {
  /** View to which the caller's hosts report; undefined for anonymous callers. */
  view: FleetKey | undefined;
  /** Whether that is the owner's view. Other owners' hosts are in the last wave. */
  isOwners: boolean;
}

/** Reads the version that a host claims to run; undefined if it makes no claim. */
function runningIn(headers: IncomingHttpHeaders): string | null | undefined {
  const given = headers[RUNNING];
  if (typeof given !== "string" || given === "" || given.length > MAX_VERSION_CHARACTERS) return undefined;
  return given === NOTHING ? null : given;
}

/** Reads the labels that a host claims in a header; undefined without any. */
export function claimedLabels(headers: IncomingHttpHeaders): Labels | undefined {
  const given = headers[LABELS];
  return typeof given === "string" && given.length <= MAX_LABELS_CHARACTERS ? labelsIn(given) : undefined;
}

/** Parts of the hub that an answer needs. */
interface AnswerParts {
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  sightings: Pick<Sightings, "noteFirst">;
}

/** Answers a host that requests the latest version. Every route uses this function. */
export function answerHost(
  parts: AnswerParts,
  target: AskedTarget,
  request: { headers: IncomingHttpHeaders },
  by: AskedBy,
): HostAnswer {
  const answer = versionFor(parts, target, request, by);
  const { rootVersion = null } = target;
  return rootVersion === null ? answer : { ...answer, rootVersion };
}

function versionFor(
  { clock, sightings }: AnswerParts,
  { latestVersion, gate, host: row }: AskedTarget,
  { headers }: { headers: IncomingHttpHeaders },
  { view, isOwners }: AskedBy,
): HostAnswer {
  if (gate === null) return { version: latestVersion };
  const id = hostOf(headers);
  const record = row && (JSON.parse(row.record) as StoredRecord);
  const given = row?.labels ? (JSON.parse(row.labels) as Labels) : undefined;
  const running = runningIn(headers);
  const host: AskingHost = {
    id: isOwners ? id : undefined,
    labels: given ?? claimedLabels(headers) ?? record?.labels ?? {},
    firstChange: row?.firstChange,
    isBound: row?.isBound ?? false,
    running: running === undefined ? record && runningVersion(record) : running,
  };
  if (view !== undefined && id !== undefined && row?.seenAt === null) void sightings.noteFirst(view, id, clock());
  return answerTo(gateOf(gate), latestVersion, host, clock());
}
