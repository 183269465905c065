import type { FastifyRequest } from "fastify";
import { slug } from "../../contract/identifiers.ts";
import { SETTINGS_WORDS } from "../../contract/settings/host-states.ts";
import type { FleetCounts } from "../../contract/surfaces/reports.ts";
import { queryOf } from "../page/context.ts";
import { Field, Filter, Select } from "../page/forms.tsx";
import { Go } from "../page/parts.tsx";
import { STATES } from "./fleet-parts.tsx";
import type { FleetFilter } from "./fleets.ts";

/** Reads the filter of hosts from the address of a page. */
export const filterIn = (request: FastifyRequest): FleetFilter => ({
  version: queryOf(request, "version"),
  label: queryOf(request, "label"),
  state: queryOf(request, "state"),
  settings: queryOf(request, "settings"),
  // What no application can be called shows all.
  app: slug.safeParse(queryOf(request, "app")).data ?? "",
  text: queryOf(request, "q"),
});

/** Returns the query of an address with a filter. */
export const filterQuery = ({ text, ...filter }: FleetFilter): Record<string, string> => ({ ...filter, q: text });

/** Values that a filter offers. */
interface Offered {
  here: string;
  filter: FleetFilter;
  versions: FleetCounts["versions"];
  labels: readonly string[];
  settings: FleetCounts["settings"];
  applications?: readonly string[];
}

/**
 * Filter of the hosts of a fleet.
 *
 * @param applications ids of applications, for a page of them
 */
export function HostFilter({ here, filter, versions, labels, settings, applications }: Offered) {
  const isFiltered = Object.values(filter).some((value) => value !== "");
  const all = ["", "all"] as const;
  const states = Object.entries(STATES).map(([state, [text]]) => [state, text] as const);
  const pairs = (values: readonly string[]) => [all, ...values.map((each) => [each, each] as const)];
  const offered = versions.map(({ version }) => version);
  return (
    <Filter to={here} label="Hosts">
      <Field label="Host" name="q" type="search" defaultValue={filter.text} maxLength={255} />
      <Select label="Version" name="version" value={filter.version} of={pairs(offered)} />
      <Select
        label={applications === undefined ? "State" : "State of the host"}
        name="state"
        value={filter.state}
        of={[all, ...states]}
      />
      {labels.length > 0 && <Select label="Label" name="label" value={filter.label} of={pairs(labels)} />}
      {settings !== undefined && (
        <Select
          label="Settings"
          name="settings"
          value={filter.settings}
          of={[all, ...Object.entries(SETTINGS_WORDS)]}
        />
      )}
      {applications !== undefined && (
        <Select label="Application" name="app" value={filter.app} of={pairs(applications)} />
      )}
      <button>Show</button>
      {isFiltered && <Go to={here}>Show all</Go>}
    </Filter>
  );
}
