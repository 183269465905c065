import type { IncomingHttpHeaders } from "node:http";
import type { Labels } from "../../contract/labels.ts";
import { runningVersion } from "../../contract/surfaces/host-record.ts";
import type { FleetKey } from "../records/fleet.ts";
import type { StoredRecord } from "../records/host-columns.ts";
import { claimedLabels, claimedVersion } from "../records/host-headers.ts";
import type { PollingHost } from "../records/polling-host.ts";
import { hostOf, type Sightings } from "../records/sightings.ts";
import { answerTo, type AskingHost, type HostAnswer } from "./answer.ts";
import { gateOf } from "./stored-gate.ts";

/** Facts of a target that its answer to a host needs, as read by the poll's statement. */
interface AskedTarget {
  /** Greatest open version. */
  latestVersion: string | null;
  /** Gate, as JSON; null where every host gets the same answer. */
  gate: string | null;
  /** Newest version of the trust root; null for none. Omitted on surface A, whose detail record says it. */
  rootVersion?: number | null;
  /** Number that grows with each upload of settings; null before the first. Surface A has none. */
  settingsVersion?: number | null;
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
  const { rootVersion = null, settingsVersion = null } = target;
  return {
    ...answer,
    ...(rootVersion !== null && { rootVersion }),
    ...(settingsVersion !== null && { settingsVersion }),
  };
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
  const running = claimedVersion(headers);
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
