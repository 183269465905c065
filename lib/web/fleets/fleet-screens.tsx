import type { FastifyRequest } from "fastify";
import type { ReactNode } from "react";
import { type FormedFactIn, partsOf } from "../../contract/facts/host-shown.ts";
import * as routes from "../../contract/fleets/routes.ts";
import type { FleetCounts } from "../../contract/surfaces/reports.ts";
import { parseTarget } from "../../contract/target.ts";
import { forbidden, HubError, notFound } from "../../hub/base/errors.ts";
import { callTo, unlessHidden } from "../page/api.ts";
import { watchCommand } from "../page/commands.ts";
import { type PageContext, param, queryOf, type Screen } from "../page/context.ts";
import { Layout } from "../page/layout.tsx";
import { named, type NamedTarget } from "../page/named-target.ts";
import { Empty, Go, KIND_NAMES, Live, Pager, type Row, Table, Time } from "../page/parts.tsx";
import { TargetLayout } from "../page/target-layout.tsx";
import { pagePaths, type TargetKind, withQuery } from "../page/view.ts";
import { Adoption } from "./adoption.tsx";
import { Figure, sharesOf, StateBadge, Versions } from "./fleet-parts.tsx";
import {
  countsCall,
  fleetCall,
  type FleetHost,
  hostsCall,
  readHosts,
  readTrouble,
  type Trouble,
  troubleOf,
} from "./fleets.ts";
import { filterIn, filterQuery, HostFilter } from "./host-filter.tsx";

const HOSTS = 100;
const PAGE_FLEETS = "20";
/** Size beyond which a fleet is not counted on the page of all fleets, in hosts. */
const COUNTED_HOSTS = 5000;

/** Requires that the route of the API shows this key a fleet. @throws HubError 403, 404 */
async function requireFleet(
  { api }: PageContext,
  request: FastifyRequest,
  kind: TargetKind,
  slug: string,
): Promise<void> {
  const { status } = await api.send(request, { ...hostsCall({ kind, slug }), method: "HEAD" });
  if (status === 403 && kind !== "project") throw forbidden("The key may not see fleets: it lacks the scope read.");
  if (status === 403 || status === 404) throw notFound(`There is no such ${kind}, or none that the key may see.`);
  if (status >= 400) throw new HubError(status, "hub_unavailable", "The fleet cannot be read now.");
}

/** Returns the target whose changes an open page of it follows. */
export async function watchedTarget(
  context: PageContext,
  request: FastifyRequest,
  kind: TargetKind,
): Promise<string[]> {
  const slug = param(request, "slug");
  await requireFleet(context, request, kind, slug);
  return [`${kind}:${slug}`];
}

/** Returns the fleets that an open page of all fleets follows: those of its first page. */
export async function watchedFleets({ api }: PageContext, request: FastifyRequest): Promise<string[]> {
  const { items } = await api.page(request, callTo(routes.listFleets, { query: { limit: PAGE_FLEETS } }));
  return items.map(({ target }) => target);
}

/** Returns a screen of a fleet, by the kind of its target, for keys that the route of the API shows the fleet. */
export const fleetScreen =
  (show: (context: PageContext, request: FastifyRequest, target: NamedTarget) => ReturnType<Screen>) =>
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const slug = param(request, "slug");
    await requireFleet(context, request, kind, slug);
    return show(context, request, await named(context, request, kind, slug));
  };

/** Which version runs where. */
export const fleet = fleetScreen(async ({ api, hub }, request, target) => {
  const { kind, slug, name, latest, isControlled } = target;
  const filter = filterIn(request);
  const after = queryOf(request, "after");
  const counts = await api.call(request, countsCall(target));
  const { hosts: total, versions, labels } = counts;
  const { shown, next } = await readHosts(api, request, { target, filter, after, limit: HOSTS });
  // The days of a larger fleet take longer to read than its page may.
  const adoption =
    total <= COUNTED_HOSTS
      ? await api.call(request, fleetCall([routes.showProjectAdoption, routes.showTargetAdoption], target))
      : undefined;
  const parts = partsFor(shown);
  const here = pagePaths.fleet(kind, slug);
  const query = filterQuery(filter);
  return (
    <TargetLayout {...{ kind, slug, name, isControlled }} at="Fleet">
      {total === 0 ? (
        <Empty title="No host has reported yet." command={watchCommand({ kind, slug, hubUrl: hub.publicUrl() })}>
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
          <HostFilter {...{ here, filter, versions, labels, settings: counts.settings }} />
          {kind === "project" && (
            <p className="help">
              <Go to={withQuery(pagePaths.applications(slug), query)}>Applications on each of these hosts</Go>
            </p>
          )}
          <Live id="fleet-hosts" of={pagePaths.target(kind, slug)}>
            <Table
              label="Hosts"
              empty={<Empty title="No host is like that.">Change the filter, or show all.</Empty>}
              columns={parts.map(titleOf)}
              rows={shown.map((host) => rowOf(parts, host, pagePaths.host(kind, slug, host.id)))}
            />
            <Pager to={here} query={query} at={after} next={next} name="after" />
          </Live>
        </>
      )}
    </TargetLayout>
  );
});

/** Characters of an error shown in the list. */
const ERROR_CHARACTERS = 200;

/** Cell of a host. @param to path of the host's page */
type Cell = (host: FleetHost, to: string) => ReactNode;

/** Cells of the list that have a form, in its order. */
const CELLS: Record<FormedFactIn<"fleet page">, Cell> = {
  host_id: ({ id, error }, to) => (
    <>
      <Go to={to}>{id}</Go>
      {error !== null && <p className="why">{error.slice(0, ERROR_CHARACTERS)}</p>}
    </>
  ),
  state: (host) => (
    <>
      <StateBadge of={host} />
      {host.unhealthySince !== undefined && (
        <p className="why">
          since <Time at={host.unhealthySince} />
        </p>
      )}
    </>
  ),
  running_version: ({ version, tried }) => (
    <>
      <span className="num">{version}</span>
      {tried !== null && <p className="why">tried {tried}</p>}
    </>
  ),
  completed_at: ({ completedAt }) => <Time at={completedAt} />,
  seen_at: ({ heardAt }) => <Time at={heardAt} />,
};

const PARTS = partsOf<Cell>(
  "fleet page",
  CELLS,
  (text) =>
    ({ record }) =>
      text(record),
);

type Part = (typeof PARTS)[number];

/** Returns the columns that a list needs: some are left out where no host has the fact. */
const partsFor = (hosts: readonly FleetHost[]): Part[] =>
  PARTS.filter(({ isLeftOut, cell }) => !isLeftOut || hosts.some((host) => cell(host, "") !== ""));

const titleOf = ({ fact, title }: Part) => (fact in CELLS ? title : ([title, fact] as const));

function rowOf(parts: readonly Part[], host: FleetHost, to: string): Row {
  const [name, ...cells] = parts.map(({ cell }) => cell(host, to));
  return [host.id, name, ...cells];
}

interface ListedFleet {
  kind: TargetKind;
  slug: string;
  name: string;
  /** Number of its hosts. */
  count: number;
  latest: string;
  trouble: Trouble;
  /** Undefined for a fleet that is too large to count here. */
  counts: FleetCounts | undefined;
}

/** Lists the fleets that the key may see, those with failing hosts first. */
export const allFleets: Screen = async (context, request) => {
  const { api } = context;
  const listed = await api.page(request, callTo(routes.listFleets, { query: { limit: PAGE_FLEETS } }));
  const { items, next, cursor } = listed;
  const fleets: ListedFleet[] = [];
  for (const { target, name: given, hosts: count } of items) {
    const { kind, slug } = parseTarget(target);
    const counts = count <= COUNTED_HOSTS ? await api.call(request, countsCall({ kind, slug })) : undefined;
    const trouble = counts === undefined ? await readTrouble(api, request, { kind, slug }) : troubleOf(counts);
    const found = await unlessHidden(named(context, request, kind, slug));
    fleets.push({
      kind,
      slug,
      name: given ?? found?.name ?? slug,
      count,
      latest: found?.latest ?? "",
      trouble,
      counts,
    });
  }
  fleets.sort((a, b) => Number(b.trouble.failing > 0) - Number(a.trouble.failing > 0));
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
};
