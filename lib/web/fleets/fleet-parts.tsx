import { type HostState, WAIT_TEXTS } from "../../contract/surfaces/host-record.ts";
import type { FleetCounts } from "../../contract/surfaces/reports.ts";
import { Bar, type Share } from "../page/bar.tsx";
import { Badge, type Tone } from "../page/parts.tsx";
import { useView } from "../page/view.ts";
import type { FleetHost, Trouble } from "./fleets.ts";

/** Labels of host states. */
export const STATES: Record<HostState, [text: string, tone: Tone]> = {
  ok: ["deployed", "good"],
  failed: ["failed", "bad"],
  held: ["waiting", "warn"],
  silent: ["silent", "calm"],
};

/** Shows a host's state; for a host that waits also for what. */
export function StateBadge({
  of: { state, waits, unhealthySince: since },
}: {
  of: Pick<FleetHost, "state" | "waits" | "unhealthySince">;
}) {
  const [text, tone] = STATES[state];
  if (state === "failed" && since !== undefined) return <Badge tone="bad">unhealthy</Badge>;
  return <Badge tone={tone}>{state === "held" && waits !== undefined ? WAIT_TEXTS[waits] : text}</Badge>;
}

/** Most versions with a share of their own in a bar; the others share one. */
const BAR_VERSIONS = 8;

/** Share of a fleet, with an address that leads to its hosts. */
interface VersionShare extends Share {
  query?: { version: string; state?: HostState };
}

/** End of a version that failed on a host of which nobody knows what it runs. */
const FAILED = "(failed)";

/** Returns the shares of a bar: for each version, failing hosts apart from the others. */
export function sharesOf({ hosts: total, versions }: FleetCounts, latest: string): VersionShare[] {
  const tone = (version: string): Tone => (version === latest ? "good" : version === "none" ? "calm" : "busy");
  const named = versions.slice(0, BAR_VERSIONS);
  const shares = named.flatMap(({ version, hosts, failing }): VersionShare[] => {
    // Another version may have failed there, or this one be unhealthy: the host fails, and not always what it runs.
    const label = version.endsWith(FAILED) ? version : `${version} (host failing)`;
    const others = { label: version, count: hosts - failing, tone: tone(version), query: { version } };
    const failed = { label, count: failing, tone: "bad" as const, query: { version, state: "failed" as const } };
    return [others, failed].filter(({ count }) => count > 0);
  });
  const rest = total - named.reduce((sum, { hosts }) => sum + hosts, 0);
  return rest === 0 ? shares : [...shares, { label: "others", count: rest, tone: "calm" }];
}

/** Shows the versions of a fleet as a bar with its legend, each linked to its hosts. */
export function Versions({
  shares,
  total,
  wayTo,
}: {
  shares: readonly VersionShare[];
  total: number;
  wayTo?: (query: VersionShare["query"]) => string;
}) {
  const { base } = useView();
  const label = shares.map(({ label: version, count }) => `${count} on ${version}`).join(", ");
  return (
    <>
      <Bar shares={shares} label={`Hosts by version: ${label}`} />
      <ul className="legend">
        {shares.map(({ label: version, count, tone, query }, index) => (
          <li key={version}>
            <span className={`dot ${tone} step-${index % 4}`} aria-hidden="true" />
            {wayTo === undefined || query === undefined ? version : <a href={base + wayTo(query)}>{version}</a>}
            <span className="num">
              {count} <span className="faint">({Math.round((count / total) * 100)}%)</span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Shows the number of a fleet's hosts, and of those that need attention. */
export const Figure = ({
  total,
  trouble: { failing, isMore, held, unhealthy },
}: {
  total: number;
  trouble: Trouble;
}) => (
  <>
    <span className="num">{total}</span> {total === 1 ? "host" : "hosts"}{" "}
    {failing > 0 && (
      <Badge tone="bad">
        {isMore && "more than "}
        {failing} failing
      </Badge>
    )}{" "}
    {unhealthy > 0 && <Badge tone="bad">{unhealthy} unhealthy</Badge>}{" "}
    {held > 0 && <Badge tone="warn">{held} waiting</Badge>}
  </>
);
