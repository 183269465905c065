import { applicationsOf } from "../../contract/facts/host-applications.ts";
import { queryOf } from "../page/context.ts";
import { Empty, Go, Live, Pager, type Row, Table, Time } from "../page/parts.tsx";
import { TargetLayout } from "../page/target-layout.tsx";
import { pagePaths } from "../page/view.ts";
import { APPLICATION_COLUMNS, applicationCells } from "./application-parts.tsx";
import { fleetScreen } from "./fleet-screens.tsx";
import { countsCall, type FleetHost, readHosts } from "./fleets.ts";
import { filterIn, filterQuery, HostFilter } from "./host-filter.tsx";

/** Hosts of one page; each may have several applications. */
const HOSTS = 100;

/** Application × host: what each host of a project has said of its applications in its last report. */
export const applications = fleetScreen(async ({ api, hub }, request, target) => {
  const { kind, slug, name, isControlled } = target;
  const filter = filterIn(request);
  const after = queryOf(request, "after");
  const counts = await api.call(request, countsCall(target));
  const { shown, next } = await readHosts(api, request, { target, filter, after, limit: HOSTS });
  const now = hub.clock();
  const all = shown.flatMap((host) => applicationsOf(host.record, now).map((application) => ({ host, application })));
  const rows = all.filter(({ application: { application: id } }) => filter.app === "" || id === filter.app);
  const ids = new Set([...all.flatMap(({ application: { application: id } }) => id ?? []), filter.app]);
  ids.delete("");
  const here = pagePaths.applications(slug);
  const { versions, labels, settings } = counts;
  return (
    <TargetLayout {...{ kind, slug, name, isControlled }} at="Fleet">
      <h2>Applications</h2>
      <p className="help">
        As each host has told in its last report. <Go to={pagePaths.fleet(kind, slug)}>The fleet</Go> shows the hosts
        alone.
      </p>
      <HostFilter {...{ here, filter, versions, labels, settings, applications: [...ids].toSorted() }} />
      <Live id="fleet-applications" of={pagePaths.target(kind, slug)}>
        <Table
          label="Applications"
          empty={<Empty title="No host tells of an application.">Change the filter, or show all.</Empty>}
          columns={["Application", "Host", ["Version", "num"], ...APPLICATION_COLUMNS, "Reported"]}
          rows={rows.map(({ host, application }) => rowOf(host, application, pagePaths.host(kind, slug, host.id)))}
        />
        <Pager to={here} query={filterQuery(filter)} at={after} next={next} name="after" />
      </Live>
    </TargetLayout>
  );
})("project");

const rowOf = (host: FleetHost, of: ReturnType<typeof applicationsOf>[number], to: string): Row => [
  `${of.application ?? ""} ${host.id}`,
  of.application ?? "not named",
  <>
    <Go to={to}>{host.id}</Go>
    {host.state === "silent" && <p className="why">silent</p>}
  </>,
  of.version,
  ...applicationCells(of),
  of.reported_at === null ? "" : <Time at={of.reported_at} />,
];
