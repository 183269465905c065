import { labelsText } from "../../contract/labels.ts";
import { facetsOf, type FleetFilter, type FleetHost, type HostState, stateOf } from "./fleets.ts";
import { Field, Select } from "./forms.tsx";
import { Layout } from "./layout.tsx";
import {
  Badge,
  Bar,
  Empty,
  Go,
  KIND_NAMES,
  Live,
  Pager,
  type Row,
  type Share,
  Table,
  TargetHead,
  Time,
  type Tone,
} from "./parts.tsx";
import { pagePaths, type TargetKind, useView, withQuery } from "./view.ts";

export const STATES: Record<HostState, [text: string, tone: Tone]> = {
  ok: ["deployed", "good"],
  failed: ["failed", "bad"],
  held: ["waits for consent", "warn"],
  silent: ["silent", "calm"],
};

/** Versions that a bar tells apart; the others are one share. */
const BAR_VERSIONS = 8;

function sharesOf(hosts: readonly FleetHost[], latest: string): Share[] {
  const { versions: counts } = facetsOf(hosts);
  const rest = counts.slice(BAR_VERSIONS).reduce((sum, [, count]) => sum + count, 0);
  const tone = (version: string): Tone =>
    version === latest ? "good" : version.endsWith("(failed)") ? "bad" : version === "none" ? "calm" : "busy";
  const shares = counts.slice(0, BAR_VERSIONS).map(([label, count]) => ({ label, count, tone: tone(label) }));
  return rest === 0 ? shares : [...shares, { label: "others", count: rest, tone: "calm" }];
}

/** The versions of a fleet as a bar with its legend, each a way to its hosts. */
function Versions({ shares, total, wayTo }: { shares: Share[]; total: number; wayTo?: (version: string) => string }) {
  const { base } = useView();
  const label = shares.map(({ label: version, count }) => `${count} on ${version}`).join(", ");
  return (
    <>
      <Bar shares={shares} label={`Hosts by version: ${label}`} />
      <ul className="legend">
        {shares.map(({ label: version, count, tone }, index) => (
          <li key={version}>
            <span className={`dot ${tone} step-${index % 4}`} aria-hidden="true" />
            {wayTo === undefined || version === "others" ? version : <a href={base + wayTo(version)}>{version}</a>}
            <span className="num">
              {count} <span className="faint">({Math.round((count / total) * 100)}%)</span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

export interface FleetView {
  kind: TargetKind;
  slug: string;
  name: string;
  latest: string;
  /** Every host of the fleet. */
  hosts: readonly FleetHost[];
  /** Those that the filter lets through, on this page. */
  shown: readonly FleetHost[];
  found: number;
  filter: FleetFilter;
  after: string;
  next: string | undefined;
}

/** Which version runs where. */
export function FleetPage({ kind, slug, name, latest, hosts, shown, found, filter, after, next }: FleetView) {
  const { now } = useView();
  const here = pagePaths.fleet(kind, slug);
  const query = { version: filter.version, label: filter.label, state: filter.state, q: filter.text };
  return (
    <Layout title={`${name}: fleet`}>
      <TargetHead kind={kind} slug={slug} name={name} at="fleet" />
      {hosts.length === 0 ? (
        <Empty
          title="No host has reported yet."
          command={kind === "project" ? `sealift watch project:${slug}` : `sealift watch ${kind}:${slug}`}
        >
          Hosts appear with their first deployment. On a host, a loop follows the latest version:
        </Empty>
      ) : (
        <>
          <Live id="fleet-shares" of={pagePaths.target(kind, slug)}>
            <p className="figure">
              <span className="num">{hosts.length}</span> {hosts.length === 1 ? "host" : "hosts"}
            </p>
            <Versions
              shares={sharesOf(hosts, latest)}
              total={hosts.length}
              wayTo={(version) => withQuery(here, { ...query, version })}
            />
          </Live>
          <Filter here={here} filter={filter} hosts={hosts} />
          <Live id="fleet-hosts" of={pagePaths.target(kind, slug)}>
            <Table
              label={`${found} hosts`}
              empty={<Empty title="No host is like that.">Change the filter, or show all.</Empty>}
              columns={["Host", "State", "Runs", "Last report", "Heard of", ["Labels", "labels"]]}
              rows={shown.map((host) => rowOf(host, pagePaths.host(kind, slug, host.id), now))}
            />
            <Pager to={here} query={query} at={after} next={next} name="after" />
          </Live>
        </>
      )}
    </Layout>
  );
}

function rowOf(host: FleetHost, to: string, now: number): Row {
  const [text, tone] = STATES[stateOf(host, now)];
  return [
    host.id,
    <>
      <Go to={to}>{host.id}</Go>
      {host.error !== null && <p className="why">{host.error}</p>}
    </>,
    <Badge tone={tone}>{text}</Badge>,
    <>
      <span className="num">{host.version}</span>
      {host.tried !== null && <p className="why">tried {host.tried}</p>}
    </>,
    <Time at={host.completedAt} />,
    <Time at={host.heardAt} />,
    labelsText(host.labels).replaceAll(",", ", "),
  ];
}

/** Versions that a filter offers. */
const OFFERED_VERSIONS = 100;

function Filter({ here, filter, hosts }: { here: string; filter: FleetFilter; hosts: readonly FleetHost[] }) {
  const { base } = useView();
  const { versions, labels } = facetsOf(hosts);
  const isFiltered = Object.values(filter).some((value) => value !== "");
  const all = ["", "all"] as const;
  const states = Object.entries(STATES).map(([state, [text]]) => [state, text] as const);
  const pairs = (values: readonly string[]) => [all, ...values.map((each) => [each, each] as const)];
  const offered = versions.slice(0, OFFERED_VERSIONS).map(([version]) => version);
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
  /** Undefined for a fleet that is too large to count here. */
  hosts: readonly FleetHost[] | undefined;
}

/** The fleets that the key may see. */
export function FleetsPage({ fleets, cursor, next }: { fleets: ListedFleet[]; cursor: string; next: string | null }) {
  return (
    <Layout title="Fleets">
      <h1>Fleets</h1>
      {fleets.length === 0 && (
        <Empty title="No host has reported yet." command="sealift watch plugin:SLUG">
          Hosts appear with their first deployment. On a host, a loop follows the latest version:
        </Empty>
      )}
      <Live id="fleets" of={pagePaths.fleets()}>
        <ul className="fleets">
          {fleets.map(({ kind, slug, name, count, latest, hosts }) => (
            <li key={`${kind}:${slug}`}>
              <h2>
                <Go to={pagePaths.fleet(kind, slug)}>{name}</Go> <span className="kind">{KIND_NAMES[kind]}</span>
                <span className="figure">
                  <span className="num">{count}</span> {count === 1 ? "host" : "hosts"}
                </span>
              </h2>
              {hosts !== undefined && hosts.length > 0 && (
                <Versions shares={sharesOf(hosts, latest)} total={hosts.length} />
              )}
            </li>
          ))}
        </ul>
      </Live>
      <Pager to={pagePaths.fleets()} at={cursor} next={next} />
    </Layout>
  );
}
