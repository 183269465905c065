import type { FastifyRequest } from "fastify";
import * as routes from "../../contract/fleets/routes.ts";
import type { Labels } from "../../contract/labels.ts";
import type { AnswerOf, Route } from "../../contract/route.ts";
import {
  heldBy,
  HOST_STATES,
  type HostState,
  lastHeard,
  shownVersion,
  triedVersion,
} from "../../contract/surfaces/host-record.ts";
import type { DeploymentStatus, FleetCounts, StepOutcome } from "../../contract/surfaces/reports.ts";
import { naturally } from "../../support/natural-order.ts";
import { type Api, type ApiCall, callTo, type Question } from "../page/api.ts";
import type { NamedTarget } from "../page/named-target.ts";

type Target = Pick<NamedTarget, "kind" | "slug">;

/** Characters of an error that lists show. */
const ERROR_CHARACTERS = 200;

/** The fields of a host's record that pages show, as the routes answer it. */
interface HostRecord {
  state: HostState;
  version: string;
  status: DeploymentStatus;
  running_version?: string | null;
  running_signer?: string | null;
  error_message: string | null;
  completed_at: string;
  created_at: string;
  seen_at?: string;
  labels?: Labels;
}

/** The record of one host, as its own route answers it. */
export interface HostDetail extends HostRecord {
  steps: StepOutcome[];
  /** Of a project's host. */
  plugins?: Record<string, unknown>[];
}

/** A host as pages show it. */
export interface FleetHost {
  id: string;
  state: HostState;
  /** The version that runs, or words in its place. */
  version: string;
  /** The trusted key that has signed the running version, hexadecimal. */
  signer: string | null;
  /** The version whose deployment failed, where another one runs. */
  tried: string | null;
  error: string | null;
  /** Cause that holds the version that was tried back; undefined where none does. */
  heldBy: ReturnType<typeof heldBy>;
  completedAt: string | null;
  /** Milliseconds since 1970; undefined when nobody knows. */
  heardAt: number | undefined;
  labels: Labels;
}

export const hostOf = (id: string, record: HostRecord): FleetHost => ({
  id,
  state: record.state,
  version: shownVersion(record),
  signer: record.running_signer ?? null,
  tried: triedVersion(record),
  error: record.error_message?.slice(0, ERROR_CHARACTERS) ?? null,
  heldBy: heldBy(record),
  completedAt: record.completed_at,
  heardAt: lastHeard(record),
  labels: record.labels ?? {},
});

/** The hosts that a page asks for; an empty text lets all through. */
export interface FleetFilter {
  version: string;
  /** `name=value`. */
  label: string;
  state: string;
  /** A part of the host's id. */
  text: string;
}

/** One screen of a fleet's hosts, those first that fail. */
export interface HostScreen {
  shown: readonly FleetHost[];
  /** The cursor of the next screen. */
  next: string | undefined;
}

/** Returns the call of a route of a fleet, whose target may be a project or not. @param host id of one of its hosts */
export function fleetCall<R extends Route>(
  [ofProject, ofTarget]: readonly [Route, R],
  { kind, slug }: Target,
  host = "",
): ApiCall<AnswerOf<R>> {
  const params = { project_id: slug, kind, slug, host_id: host };
  return callTo(kind === "project" ? ofProject : ofTarget, { params } as unknown as Question<Route>) as ApiCall<
    AnswerOf<R>
  >;
}

/** The calls for the hosts of a target, and for their numbers. */
export const hostsCall = (target: Target): ApiCall =>
  fleetCall([routes.listProjectHosts, routes.listTargetHosts], target);
export const countsCall = (target: Target) => fleetCall([routes.countProjectFleet, routes.countTargetFleet], target);

const isState = (text: string): boolean => (HOST_STATES as readonly string[]).includes(text);

/** The hosts of a fleet that need somebody. */
export interface Trouble {
  failing: number;
  /** Whether more fail than were counted. */
  isMore: boolean;
  held: number;
}

export const troubleOf = ({ states: { failed, held } }: FleetCounts): Trouble => ({
  ...{ failing: failed, isMore: false, held },
});

/** Hosts in a state that are counted one by one. */
const COUNTED = 100;

/** Counts the hosts of a large fleet that need somebody, up to a screen of each: that costs little of any fleet. */
export async function readTrouble(api: Api, request: FastifyRequest, target: Target): Promise<Trouble> {
  const inState = async (state: HostState) =>
    api.members<HostRecord>(request, { ...hostsCall(target), query: { state, limit: String(COUNTED) } });
  const [failed, held] = [await inState("failed"), await inState("held")];
  return { failing: failed.records.length, isMore: failed.next !== undefined, held: held.records.length };
}

interface Wanted {
  target: Target;
  filter: FleetFilter;
  after: string;
  limit: number;
}

/** Reads one screen of a fleet. A state or cursor that there is not begins with all. */
export async function readHosts(
  api: Api,
  request: FastifyRequest,
  { target, filter, after, limit }: Wanted,
): Promise<HostScreen> {
  const { state, ...others } = filter;
  const isCursor = isState(after.split(/:|%3A/)[0]!);
  const query = {
    ...{ ...others, limit: String(limit) },
    state: isState(state) ? state : "",
    after: isCursor ? after : "",
  };
  const { records, next } = await api.members<HostRecord>(request, { ...hostsCall(target), query });
  return { shown: inOrder(records.map(([id, record]) => hostOf(id, record))), next };
}

/** Puts the hosts of a screen in the order of the list: by state, then by name with numbers as numbers. */
const inOrder = (hosts: FleetHost[]): FleetHost[] =>
  hosts.sort((a, b) => HOST_STATES.indexOf(a.state) - HOST_STATES.indexOf(b.state) || naturally(a.id, b.id));
