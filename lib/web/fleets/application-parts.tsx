import { applicationNote, type HostApplication } from "../../contract/facts/host-applications.ts";
import { Badge, Time, type Tone } from "../page/parts.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  ...{ running: "good", waiting: "good", unhealthy: "bad", failed: "bad", stopped: "calm", unknown: "calm" },
};

/** Cells of an application in a list, beside its name and host. */
export const APPLICATION_COLUMNS = ["State", "Since", ["Restarts", "num"], "Last run", ["Note", "why"]] as const;

/** Shows the state of an application, in the order of {@link APPLICATION_COLUMNS}. */
export const applicationCells = (of: HostApplication) => [
  <Badge tone={TONES[of.state] ?? "warn"}>{of.state}</Badge>,
  of.since === null ? "" : <Time at={of.since} />,
  of.restarts === null ? "" : String(of.restarts),
  of.last === null ? "" : <Time at={of.last} />,
  applicationNote({ ...of, restarts: null, last: null, stale: false }),
];
