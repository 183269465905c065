import type { FleetHost, FleetView } from "../../lib/client/fleet.ts";
import { applicationNote, applicationsOf, type HostApplication } from "../../lib/contract/facts/host-applications.ts";
import { type Target, targetText } from "../../lib/contract/target.ts";
import { counted } from "../../lib/support/counted.ts";
import { naturally } from "../../lib/support/natural-order.ts";
import type { Surroundings } from "../shell/output/deployment.ts";
import { timeText } from "../shell/output/listing.ts";

type Row = HostApplication & Pick<FleetHost, "host_id" | "agent">;

/** Most rows that are sorted and aligned together. */
const TOGETHER = 10_000;

/** Text in place of the name of an application whose host names none. */
const NAMELESS = "?";

const COLUMNS = {
  APPLICATION: ({ application }: Row) => application ?? NAMELESS,
  HOST: ({ host_id: host }: Row) => host,
  VERSION: ({ version }: Row) => version,
  STATE: ({ state }: Row) => state,
  SINCE: ({ since, last }: Row) => timeText(since ?? last ?? ""),
  TOLD: ({ reported_at: at }: Row) => ageText(at, Date.now()),
  NOTE: (row: Row) => applicationNote(row),
};

interface AskedApplications {
  target: Target;
  hosts: FleetView["hosts"];
  staleMs: number;
  /** Only this application; undefined for all. */
  only: string | undefined;
}

/** Prints a line for each application on each host. @returns the fleet's sum: hosts by application and state */
export async function showApplications(
  { json, isForPeople, print, note }: Pick<Surroundings, "json" | "isForPeople" | "print" | "note">,
  { target, hosts, staleMs, only }: AskedApplications,
): Promise<Record<string, unknown>> {
  const { tableLines } = await import("../shell/output/table.ts");
  const sums = new Map<string, Map<string, number>>();
  const now = Date.now();
  let held: Row[] = [];
  let nameless = 0;
  let hasTitles = isForPeople;
  const flush = (): void => {
    for (const line of tableLines(COLUMNS, held.toSorted(inOrder), hasTitles && held.length > 0)) print.line(line);
    hasTitles &&= held.length === 0;
    held = [];
  };
  for await (const host of hosts)
    for (const application of applicationsOf(host, now, staleMs)) {
      const { application: id, state } = application;
      if (only !== undefined && id !== only) continue;
      const { host_id, agent } = host;
      if (id === null) nameless++;
      else {
        const states = sums.get(id) ?? new Map<string, number>();
        sums.set(id, states.set(state, (states.get(state) ?? 0) + 1));
      }
      if (json) {
        print.event({ event: "application", target: targetText(target), host_id, ...application, agent });
        continue;
      }
      if (held.push({ host_id, agent, ...application }) === TOGETHER) flush();
    }
  if (!json) flush();
  const all = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [id, states] of all) {
    const parts = [...states]
      .toSorted(([a, many], [b, few]) => few - many || (a < b ? -1 : 1))
      .map(([state, count]) => `${count} ${state}`);
    note(`${id}: ${counted(sum(states), "host")}, ${parts.join(", ")}`);
  }
  if (nameless > 0)
    note(`${counted(nameless, "host")} of older agents ${nameless === 1 ? "names" : "name"} no application`);
  if (all.length + nameless === 0) note("No host tells of an application.");
  return {
    target: targetText(target),
    applications: Object.fromEntries(all.map(([id, states]) => [id, Object.fromEntries(states)])),
    unnamed: nameless,
  };
}

const sum = (states: ReadonlyMap<string, number>): number =>
  [...states.values()].reduce((all, count) => all + count, 0);

const inOrder = (a: Row, b: Row): number =>
  naturally(a.application ?? "\u{10ffff}", b.application ?? "\u{10ffff}") || naturally(a.host_id, b.host_id);

const MINUTE_MS = 60_000;

/** Returns how long ago a report came, in one unit: `5m`, `3h`, `21d`. Empty where that is not known. */
function ageText(time: string | null, now: number): string {
  const minutes = Math.max(0, Math.floor((now - Date.parse(time ?? "")) / MINUTE_MS));
  if (Number.isNaN(minutes)) return "";
  const hours = Math.floor(minutes / 60);
  return hours < 1 ? `${minutes}m` : hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
