import type { FleetAdoption } from "../../contract/fleets/adoption.ts";
import { labelsText } from "../../contract/labels.ts";
import type { HostState } from "../../contract/surfaces/host-record.ts";
import type { FleetCounts } from "../../contract/surfaces/reports.ts";
import { Bar, type Share } from "../page/bar.tsx";
import { watchCommand } from "../page/commands.ts";
import { Field, Select } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import { Badge, Empty, Go, KIND_NAMES, Live, Pager, type Row, Table, Time, type Tone } from "../page/parts.tsx";
import { TargetLayout } from "../page/target-layout.tsx";
import { pagePaths, type TargetKind, useView, withQuery } from "../page/view.ts";
import { Adoption } from "./adoption.tsx";
import { type FleetFilter, type FleetHost, type Trouble, troubleOf } from "./fleets.ts";

const STATES: Record<HostState, [text: string, tone: Tone]> = {
  ok: ["deployed", "good"],
  failed: ["failed", "bad"],
  held: ["held", "warn"],
  silent: ["silent", "calm"],
};

const HOLDS = { rights: "waits for consent to its rights", policy: "held by its policy" } as const;

/** A host's state; of one that holds a version also what holds it. */
export function StateBadge({ of: { state, heldBy } }: { of: Pick<FleetHost, "state" | "heldBy"> }) {
  const [text, tone] = STATES[state];
  return <Badge tone={tone}>{state === "held" && heldBy !== undefined ? HOLDS[heldBy] : text}</Badge>;
}

/** Versions that a bar tells apart; the others are one share. */
const BAR_VERSIONS = 8;

/** A share of a fleet; an address leads to its hosts. */
interface VersionShare extends Share {
  query?: { version: string; state?: HostState };
}

const FAILED = "(failed)";

/** Returns the shares of a bar: of each version those hosts that fail apart from the others. */
function sharesOf({ hosts: total, versions }: FleetCounts, latest: string): VersionShare[] {
  const tone = (version: string): Tone => (version === latest ? "good" : version === "none" ? "calm" : "busy");
  const named = versions.slice(0, BAR_VERSIONS);
  const shares = named.flatMap(({ version, hosts, failing }): VersionShare[] => {
    const label = version.endsWith(FAILED) ? version : `${version} ${FAILED}`;
    const others = { label: version, count: hosts - failing, tone: tone(version), query: { version } };
    const failed = { label, count: failing, tone: "bad" as const, query: { version, state: "failed" as const } };
    return [others, failed].filter(({ count }) => count > 0);
  });
  const rest = total - named.reduce((sum, { hosts }) => sum + hosts, 0);
  return rest === 0 ? shares : [...shares, { label: "others", count: rest, tone: "calm" }];
}

/** The versions of a fleet as a bar with its legend, each a way to its hosts. */
function Versions({
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

/** The number of a fleet's hosts, and of those that need somebody. */
const Figure = ({ total, trouble: { failing, isMore, held } }: { total: number; trouble: Trouble }) => (
  <>
    <span className="num">{total}</span> {total === 1 ? "host" : "hosts"}{" "}
    {failing > 0 && (
      <Badge tone="bad">
        {isMore && "more than "}
        {failing} failing
      </Badge>
    )}{" "}
    {held > 0 && <Badge tone="warn">{held} held</Badge>}
  </>
);

export interface FleetView {
  kind: TargetKind;
  slug: string;
  name: string;
  latest: string;
  counts: FleetCounts;
  /** Undefined for a fleet that is too large for it. */
  adoption: FleetAdoption | undefined;
  /** Those that the filter lets through, on this page: failing ones first. */
  shown: readonly FleetHost[];
  filter: FleetFilter;
  after: string;
  next: string | undefined;
}

/** Which version runs where. */
export function FleetPage({ kind, slug, name, latest, counts, adoption, shown, filter, after, next }: FleetView) {
  const { hubUrl } = useView();
  const here = pagePaths.fleet(kind, slug);
  const query = { version: filter.version, label: filter.label, state: filter.state, q: filter.text };
  const { hosts: total, versions, labels } = counts;
  return (
    <TargetLayout kind={kind} slug={slug} name={name} at="Fleet">
      {total === 0 ? (
        <Empty title="No host has reported yet." command={watchCommand({ kind, slug, hubUrl })}>
          Hosts appear with their first deployment. On a host, a loop follows the latest version:
        </Empty>
      ) : (
        <>
          <Live id="fleet-shares" of={pagePaths.target(kind, slug)}>
            <p className="figure">
              <Figure total={total} trouble={troubleOf(counts)} />
            </p>
            <Versions
              shares={sharesOf(counts, latest)}
              total={total}
              wayTo={(which) => withQuery(here, { ...query, ...which })}
            />
          </Live>
          {adoption !== undefined && (
            <Live id="fleet-adoption" of={pagePaths.target(kind, slug)}>
              <Adoption of={adoption} latest={latest} />
            </Live>
          )}
          <Filter here={here} filter={filter} versions={versions} labels={labels} />
          <Live id="fleet-hosts" of={pagePaths.target(kind, slug)}>
            <Table
              label="Hosts"
              empty={<Empty title="No host is like that.">Change the filter, or show all.</Empty>}
              columns={["Host", "State", "Runs", "Last report", "Heard of", ["Labels", "labels"]]}
              rows={shown.map((host) => rowOf(host, pagePaths.host(kind, slug, host.id)))}
            />
            <Pager to={here} query={query} at={after} next={next} name="after" />
          </Live>
        </>
      )}
    </TargetLayout>
  );
}

function rowOf(host: FleetHost, to: string): Row {
  return [
    host.id,
    <>
      <Go to={to}>{host.id}</Go>
      {host.error !== null && <p className="why">{host.error}</p>}
    </>,
    <StateBadge of={host} />,
    <>
      <span className="num">{host.version}</span>
      {host.tried !== null && <p className="why">tried {host.tried}</p>}
    </>,
    <Time at={host.completedAt} />,
    <Time at={host.heardAt} />,
    labelsText(host.labels).replaceAll(",", ", "),
  ];
}

interface Offered {
  here: string;
  filter: FleetFilter;
  versions: FleetCounts["versions"];
  labels: readonly string[];
}

function Filter({ here, filter, versions, labels }: Offered) {
  const { base } = useView();
  const isFiltered = Object.values(filter).some((value) => value !== "");
  const all = ["", "all"] as const;
  const states = Object.entries(STATES).map(([state, [text]]) => [state, text] as const);
  const pairs = (values: readonly string[]) => [all, ...values.map((each) => [each, each] as const)];
  const offered = versions.map(({ version }) => version);
  return (
    <form className="filter" action={base + here} role="search" aria-label="Hosts">
      <Field label="Host" name="q" type="search" defaultValue={filter.text} maxLength={255} />
      <Select label="Version" name="version" value={filter.version} of={pairs(offered)} />
      <Select label="State" name="state" value={filter.state} of={[all, ...states]} />
      {labels.length > 0 && <Select label="Label" name="label" value={filter.label} of={pairs(labels)} />}
      <button>Show</button>
      {isFiltered && <Go to={here}>Show all</Go>}
    </form>
  );
}

export interface ListedFleet {
  kind: TargetKind;
  slug: string;
  name: string;
  /** Its hosts. */
  count: number;
  latest: string;
  trouble: Trouble;
  /** Undefined for a fleet that is too large to count here. */
  counts: FleetCounts | undefined;
}

/** The fleets that the key may see, those first in which hosts fail. */
export function FleetsPage({ fleets, cursor, next }: { fleets: ListedFleet[]; cursor: string; next: string | null }) {
  return (
    <Layout title="Fleets">
      <h1>Fleets</h1>
      {fleets.length === 0 && (
        <Empty title="No host has reported yet.">
          Hosts appear with their first deployment. The command for it is on the page of each plugin, service or
          project: see the <Go to={pagePaths.home()}>catalogue</Go> and the <Go to={pagePaths.projects()}>projects</Go>.
        </Empty>
      )}
      <Live id="fleets" of={pagePaths.fleets()}>
        <ul className="fleets">
          {fleets.map(({ kind, slug, name, count, latest, trouble, counts }) => (
            <li key={`${kind}:${slug}`}>
              <h2>
                <Go to={pagePaths.fleet(kind, slug)}>{name}</Go> <span className="kind">{KIND_NAMES[kind]}</span>
                <span className="figure">
                  <Figure total={count} trouble={trouble} />
                </span>
              </h2>
              {counts !== undefined && counts.versions.length > 0 && (
                <Versions shares={sharesOf(counts, latest)} total={count} />
              )}
            </li>
          ))}
        </ul>
      </Live>
      <Pager to={pagePaths.fleets()} at={cursor} next={next} />
    </Layout>
  );
}
