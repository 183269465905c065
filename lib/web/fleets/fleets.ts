import type { FastifyRequest } from "fastify";
import type { ListedHost } from "../../contract/facts/host.ts";
import { type HostView, hostView } from "../../contract/facts/host-shown.ts";
import * as routes from "../../contract/fleets/routes.ts";
import type { AnswerOf, Route } from "../../contract/route.ts";
import { HOST_SETTINGS } from "../../contract/settings/host-states.ts";
import { HOST_STATES, type HostState, lastHeard } from "../../contract/surfaces/host-record.ts";
import type { FleetCounts } from "../../contract/surfaces/reports.ts";
import { naturally } from "../../support/natural-order.ts";
import { type Api, type ApiCall, callTo, type RouteCall } from "../page/api.ts";
import type { NamedTarget } from "../page/named-target.ts";

type Target = Pick<NamedTarget, "kind" | "slug">;

/** Host as pages show it. */
export interface FleetHost extends HostView {
  id: string;
  state: HostState;
  completedAt: string | null;
  /** Milliseconds since 1970; undefined if unknown. */
  heardAt: number | undefined;
  /** Its record, for facts that are shown by their text alone. */
  record: ListedHost;
}

export const hostOf = (id: string, record: ListedHost): FleetHost => ({
  id,
  state: record.state,
  ...hostView(record),
  completedAt: record.completed_at,
  heardAt: lastHeard(record),
  record,
});

/** Filter of the hosts on a page; an empty text matches all. */
export interface FleetFilter {
  version: string;
  /** Label: `name=value`. */
  label: string;
  state: string;
  /** State of the host's settings. */
  settings: string;
  /** Id of an application. */
  app: string;
  /** Part of the host's id. */
  text: string;
}

/** One page of a fleet's hosts, failing ones first. */
export interface HostScreen {
  shown: readonly FleetHost[];
  /** Cursor of the next page. */
  next: string | undefined;
}

/** Returns the call of a route of a fleet, whose target may be a project or not. @param host id of one of its hosts */
export function fleetCall<P extends Route, R extends Route>(
  [ofProject, ofTarget]: readonly [P, R],
  { kind, slug }: Target,
  host = "",
): ApiCall<AnswerOf<P> | AnswerOf<R>> {
  const params = { project_id: slug, kind, slug, host_id: host };
  return callTo(kind === "project" ? ofProject : ofTarget, { params } as unknown as RouteCall<Route>) as ApiCall<
    AnswerOf<P> | AnswerOf<R>
  >;
}

/** Returns the call for the hosts of a target. */
export const hostsCall = (target: Target): ApiCall =>
  fleetCall([routes.listProjectHosts, routes.listTargetHosts], target);
export const countsCall = (target: Target) => fleetCall([routes.countProjectFleet, routes.countTargetFleet], target);

const isSettings = (text: string): boolean => (HOST_SETTINGS as readonly string[]).includes(text);
const isState = (text: string): boolean => (HOST_STATES as readonly string[]).includes(text);

/** Hosts of a fleet that need attention. */
export interface Trouble {
  failing: number;
  /** Whether more fail than were counted. */
  isMore: boolean;
  held: number;
  /** Failing hosts whose running version is unhealthy. */
  unhealthy: number;
}

export const troubleOf = ({ states: { failed, held }, unhealthy = 0 }: FleetCounts): Trouble => ({
  ...{ failing: failed, isMore: false, held, unhealthy },
});

/** Most hosts counted in a state. */
const COUNTED = 100;

/**
 * Counts the hosts of a large fleet that need attention, up to one page per state, which costs little for any fleet.
 */
export async function readTrouble(api: Api, request: FastifyRequest, target: Target): Promise<Trouble> {
  const inState = async (state: HostState) =>
    api.members<ListedHost>(request, { ...hostsCall(target), query: { state, limit: String(COUNTED) } });
  const [failed, held] = [await inState("failed"), await inState("held")];
  return { failing: failed.records.length, isMore: failed.next !== undefined, held: held.records.length, unhealthy: 0 };
}

interface FleetPage {
  target: Target;
  filter: FleetFilter;
  after: string;
  limit: number;
}

/** Reads one page of a fleet. An unknown state, word or cursor shows all from the start. */
export async function readHosts(
  api: Api,
  request: FastifyRequest,
  { target, filter, after, limit }: FleetPage,
): Promise<HostScreen> {
  const { state, settings, ...others } = filter;
  const isCursor = isState(after.split(/:|%3A/)[0]!);
  const query = {
    ...{ ...others, limit: String(limit) },
    state: isState(state) ? state : "",
    settings: isSettings(settings) ? settings : "",
    after: isCursor ? after : "",
  };
  const { records, next } = await api.members<ListedHost>(request, { ...hostsCall(target), query });
  return { shown: inOrder(records.map(([id, record]) => hostOf(id, record))), next };
}

/** Sorts the hosts of a page: by state, then by name with numbers as numbers. */
const inOrder = (hosts: FleetHost[]): FleetHost[] =>
  hosts.sort((a, b) => HOST_STATES.indexOf(a.state) - HOST_STATES.indexOf(b.state) || naturally(a.id, b.id));
