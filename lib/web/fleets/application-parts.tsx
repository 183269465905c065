import { applicationNote, type HostApplication } from "../../contract/facts/host-applications.ts";
import { Badge, Time, type Tone } from "../page/parts.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  ...{ running: "good", waiting: "good", unhealthy: "bad", failed: "bad", stopped: "calm", unknown: "calm" },
};

/** Cells of an application in a list, beside its name and host. */
export const APPLICATION_COLUMNS = ["State", "Since"] as const;

/** Shows an application: its state with restarts and fault, and since when, or when a job was begun last. */
export function applicationCells(of: HostApplication) {
  const note = applicationNote({ ...of, last: null, stale: false });
  const at = of.since ?? of.last;
  return [
    <>
      <Badge tone={TONES[of.state] ?? "warn"}>{of.state}</Badge>
      {note !== "" && <p className="why">{note}</p>}
    </>,
    at === null ? (
      ""
    ) : (
      <>
        <Time at={at} />
        {of.last !== null && <p className="why">last run</p>}
      </>
    ),
  ];
}
