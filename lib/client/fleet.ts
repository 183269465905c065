import { setImmediate as nextTurn } from "node:timers/promises";
import { fun, type Many, none } from "stream-chain/core";
import Assembler from "stream-json/assembler.js";
import parser, { type Token } from "stream-json/parser.js";
import { SealiftError } from "../contract/errors.ts";
import { type ReadHost, readHost } from "../contract/facts/host.ts";
import type { FleetAdoption } from "../contract/fleets/adoption.ts";
import * as routes from "../contract/fleets/routes.ts";
import type { HostSettingsState } from "../contract/settings/host-states.ts";
import { type HostState, stateOfHost } from "../contract/surfaces/host-record.ts";
import type { FleetCounts, FleetSummary } from "../contract/surfaces/reports.ts";
import type { Target } from "../contract/target.ts";
import { paceBuffers } from "../support/buffer-pacing.ts";
import { safelyParsed } from "../support/documents/safe-parse.ts";
import { printableJson } from "../support/printable.ts";
import { statusError } from "./answers.ts";
import { ask, type Asking, askPages, requestOf, type RouteInput } from "./ask.ts";
import { header, type HttpRequest, operationError, send, transportError } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";

export type FleetHost = ReadHost & { host_id: string };

/** Mark with which a later call transfers only what changed. */
export interface FleetMark {
  etag?: string;
  cursor?: string;
}

export interface FleetView {
  /** False when nothing has changed since the mark. */
  changed: boolean;
  /** True when the answer has every host of the fleet, although only changes were requested: all others are gone. */
  whole: boolean;
  mark: FleetMark;
  /** Hosts in host-id order, read as the answer arrives; with a cursor only those that changed. */
  hosts: AsyncIterable<FleetHost>;
}

/**
 * Reads which hosts run what, in constant memory (docs/architecture.md).
 *
 * @throws DeploymentError; AuthenticationError on 401 and 403
 */
export async function readFleet(target: Target, options: HubConnection, since: FleetMark = {}): Promise<FleetView> {
  const request: HttpRequest = {
    ...hostsRequest(target, { since: since.cursor }, options),
    ...(since.etag !== undefined && { headers: { "if-none-match": since.etag } }),
  };
  const response = await send(request, options);
  if (response.status === 304) {
    response.discard();
    return { changed: false, whole: false, mark: since, hosts: nothing() };
  }
  if (response.status !== 200) throw await statusError(response, request);
  const etag = header(response, "etag");
  const cursor = header(response, "x-cursor");
  const mark = { ...(etag !== undefined && { etag }), ...(cursor !== undefined && { cursor }) };
  const whole = since.cursor === undefined || header(response, "x-whole-view") === "true";
  return { changed: true, whole, mark, hosts: hostsOf(response, request, options) };
}

/** Hosts per page of a list. */
const SCREEN_HOSTS = 500;

/** Filter of a list of hosts. */
export interface HostFilter {
  state?: HostState;
  /** Label: `name=value`, or a name alone. */
  label?: string;
  /** Version of the trust root; hosts that follow an older one, or none, match. */
  rootBelow?: number;
  settings?: HostSettingsState;
  /** Id of an application that the host has. */
  app?: string;
}

/** Tells whether a host matches the filter, for hubs that cannot filter. */
function fits(host: FleetHost, { state, label, rootBelow, settings, app }: HostFilter): boolean {
  if (app !== undefined && host.applications?.[app] === undefined) return false;
  if (settings !== undefined && host.settings_state !== settings) return false;
  if (rootBelow !== undefined && (host.root_version ?? 0) >= rootBelow) return false;
  if (host.state !== undefined) return true;
  if (state !== undefined && stateOfHost(host, Date.now()) !== state) return false;
  if (label === undefined) return true;
  const [name = "", value] = label.split("=", 2);
  const own = host.labels?.[name];
  return value === undefined ? own !== undefined : own === value;
}

/**
 * Lists the hosts of a target, those that need attention first, page by page, so that the hub reads no more than the
 * caller does. A host whose state changes meanwhile may be missing, or appear twice.
 *
 * @throws DeploymentError; AuthenticationError on 401 and 403
 */
export async function* listHosts(
  target: Target,
  options: HubConnection,
  filter: HostFilter = {},
): AsyncGenerator<FleetHost> {
  const { rootBelow, ...others } = filter;
  for (let after: string | undefined = ""; after !== undefined;) {
    const root = rootBelow === undefined ? {} : { root_below: rootBelow };
    const query = { limit: SCREEN_HOSTS, ...others, ...root, ...(after !== "" && { after }) };
    const request = hostsRequest(target, query, options);
    const response = await send(request, options);
    if (response.status !== 200) throw await statusError(response, request);
    after = header(response, "x-next");
    for await (const host of hostsOf(response, request, options)) if (fits(host, filter)) yield host;
  }
}

/**
 * Removes a host from a fleet, until it reports again.
 *
 * @returns false when the fleet has no such host
 * @throws DeploymentError; AuthenticationError on 401 and 403
 */
export async function forgetHost({ kind, slug }: Target, host: string, options: HubConnection): Promise<boolean> {
  const request =
    kind === "project"
      ? requestOf(routes.forgetProjectHost, { params: { project_id: slug, host_id: host } }, asking(options))
      : requestOf(routes.forgetTargetHost, { params: { kind, slug, host_id: host } }, asking(options));
  const response = await send(request, options);
  if (response.status !== 204 && response.status !== 404) throw await statusError(response, request);
  response.discard();
  return response.status === 204;
}

/**
 * Reads the daily numbers of a fleet's hosts by version, and of those that failed.
 *
 * @throws DeploymentError; AuthenticationError on 401 and 403
 */
export const readAdoption = ({ kind, slug }: Target, hub: HubConnection): Promise<FleetAdoption> =>
  kind === "project"
    ? ask(routes.showProjectAdoption, { params: { project_id: slug } }, asking(hub))
    : ask(routes.showTargetAdoption, { params: { kind, slug } }, asking(hub));

/** Reads the numbers of a fleet. @throws DeploymentError; AuthenticationError on 401 and 403 */
export const readCounts = ({ kind, slug }: Target, hub: HubConnection): Promise<FleetCounts> =>
  kind === "project"
    ? ask(routes.countProjectFleet, { params: { project_id: slug } }, asking(hub))
    : ask(routes.countTargetFleet, { params: { kind, slug } }, asking(hub));

/** Lists the fleets that the key may see. @throws DeploymentError; AuthenticationError on 401 and 403 */
export const listFleets = (options: HubConnection): AsyncGenerator<FleetSummary> =>
  askPages(routes.listFleets, { query: { limit: 200 } }, asking(options));

const asking = (hub: HubConnection): Asking => ({ operation: "fleet", hub });

const hostsRequest = (
  { kind, slug }: Target,
  query: NonNullable<RouteInput<typeof routes.listTargetHosts>["query"]>,
  hub: HubConnection,
): HttpRequest =>
  kind === "project"
    ? requestOf(routes.listProjectHosts, { params: { project_id: slug }, query }, asking(hub))
    : requestOf(routes.listTargetHosts, { params: { kind, slug }, query }, asking(hub));

/** Bytes parsed at a time, so that few tokens are alive when garbage is collected. */
const PIECE_BYTES = 4 * 1024;

/** Largest record of a host, in bytes: usual ones have a few hundred, and an endless one must not fill the memory. */
const MAX_RECORD_BYTES = 1024 * 1024;

async function* nothing(): AsyncGenerator<FleetHost> {}

async function* hostsOf(
  response: Awaited<ReturnType<typeof send>>,
  request: HttpRequest,
  options: HubConnection,
): AsyncGenerator<FleetHost> {
  const bad = (why: string, cause?: unknown) =>
    operationError("fleet", "bad_answer", `the hub answered 200, but ${why}.`, {
      status: 200,
      ...(cause !== undefined && { cause }),
    });
  try {
    for await (const [key, value] of membersOf(response.body)) {
      const record = safelyParsed(readHost, value);
      if (!record.success) throw bad(`its record of ${printableJson(key.slice(0, 100))} is not a host's`);
      yield { ...record.data, host_id: key };
    }
  } catch (error) {
    if (error instanceof RecordTooLarge) throw bad(`with a record of more than ${MAX_RECORD_BYTES} bytes`, error);
    const explained = transportError(error, request, response.url, options);
    // An error that is neither a SealiftError nor the transport's is the parser's.
    throw explained instanceof SealiftError || options.signal?.aborted
      ? explained
      : bad("not with a JSON object", error);
  } finally {
    response.discard();
  }
}

class RecordTooLarge extends Error {}
class NoObject extends Error {}

/**
 * Yields the members of the JSON object in a body as they arrive. Calls the parser instead of piping through it,
 * because a stream's queues keep objects until they are promoted; and does without its object streamer, because a
 * property for each host id makes a hidden class for each host. Either made memory grow with the fleet.
 */
async function* membersOf(body: AsyncIterable<Buffer>): AsyncGenerator<[key: string, value: unknown]> {
  // The parser's types omit bytes as input, and synchronous answers of synchronous parts.
  const parse = fun(parser({ streamValues: false })) as unknown as (piece: Buffer | typeof none) => Many<Token>;
  const pace = paceBuffers("tokens");
  const record = new Assembler();
  let opened = false;
  let key: string | undefined;
  let recordBytes = 0;
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      recordBytes += piece.length;
      for (const token of parse(piece).values) {
        if (key !== undefined) {
          record.consume(token);
          if (!record.done) continue;
          yield [key, record.current];
          key = undefined;
          recordBytes = 0;
        } else if (token.name === "keyValue") {
          key = token.value;
        } else if (!opened) {
          opened = token.name === "startObject";
          if (!opened) throw new NoObject();
        }
      }
      if (recordBytes > MAX_RECORD_BYTES) throw new RecordTooLarge();
    }
    // Objects read so far can be collected only after a turn of the event loop.
    await nextTurn();
    pace(chunk.length);
  }
  // Throws when something is missing; also ends a bare number.
  parse(none);
  if (!opened) throw new NoObject();
}
