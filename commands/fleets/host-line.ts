import type { FleetHost } from "../../lib/client/fleet.ts";
import { type HostFactIn, hostNotes } from "../../lib/contract/facts/host-shown.ts";
import {
  lastHeard,
  shownVersion,
  stoppedText,
  triedVersion,
  troubleOf,
  unhealthyText,
  WAIT_WORDS,
  waitCause,
} from "../../lib/contract/surfaces/host-record.ts";
import { printable } from "../../lib/support/printable.ts";
import { timeText } from "../shell/output/listing.ts";

/** Cells of a host's line, in its order. @param stale whether the host was silent for too long */
const CELLS: Record<HostFactIn<"line">, (host: FleetHost, stale: boolean) => string> = {
  host_id: ({ host_id: id }) => id.padEnd(32),
  running_version: (host) => shownVersion(host).padEnd(20),
  running_signer: ({ running_signer: signer }) => signerText(signer).padEnd(17),
  status: (host, stale) => (stale ? "stale" : reportedText(host)).padEnd(11),
  completed_at: ({ completed_at: time }) => timeText(time ?? "").padEnd(20),
  error_message: (host, stale) =>
    [(stale ? silenceText(host) : undefined) ?? troubleText(host), stoppedText(host), hostNotes(host)]
      .filter(Boolean)
      .join("; "),
};

/** Formats a host as one line, whatever it has put into its report. @param stale whether it was silent for too long */
export const hostLine = (host: FleetHost, stale: boolean): string =>
  printable(
    Object.values(CELLS)
      .map((cell) => cell(host, stale))
      .join(" "),
  ).trimEnd();

/** Returns the shortened signer of the running version: a dash where no signature was required, nothing if unknown. */
const signerText = (signer: string | null | undefined): string =>
  signer === undefined ? "" : (signer?.slice(0, 16) ?? "–");

function reportedText(host: FleetHost): string {
  if (unhealthyText(host, timeText) !== undefined) return "unhealthy";
  const waits = waitCause(host);
  if (waits !== undefined) return WAIT_WORDS[waits];
  return host.superseded === true ? "current" : host.status;
}

function silenceText(host: FleetHost): string | undefined {
  const heard = lastHeard(host);
  return heard === undefined ? undefined : `last heard of ${timeText(new Date(heard).toISOString())}`;
}

function troubleText(host: FleetHost): string {
  const { version, superseded, error_message: error = null } = host;
  const sick = unhealthyText(host, timeText);
  if (sick !== undefined) return sick;
  return superseded === true
    ? `${version} failed, and is offered no longer`
    : troubleOf({ tried: triedVersion(host), error, waits: waitCause(host) });
}
