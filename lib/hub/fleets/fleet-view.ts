import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { HostDetail, HostRecord } from "../../contract/facts/host.ts";
import { CURSOR_HEADER, type FleetQuery, MOST_HOSTS, NEXT_HEADER, WHOLE_HEADER } from "../../contract/fleets/query.ts";
import { HOST_STATES, type HostState, STALE_MS, stateOfHost } from "../../contract/surfaces/host-record.ts";
import { matchesEtag } from "../../support/network/entity-tags.ts";
import { countRows } from "../base/buffer-collection.ts";
import { notFound, unprocessable } from "../base/errors.ts";
import { findHost, type FleetKey, hostPages, viewState } from "../records/fleet.ts";
import { type FleetCursor, listHosts } from "../records/fleet-pages.ts";
import { KEPT_FACTS, type ShownHost } from "../records/host-columns.ts";
import type { PreparedStatements } from "../records/port.ts";

export const noSuchHost = () => notFound("The fleet has no such host.");

/** Returns a host's record as the view shows it: with the labels that an operator gave it. */
const shownRecord = ({ record, labels }: ShownHost): string =>
  labels === null
    ? record
    : JSON.stringify({ ...(JSON.parse(record) as object), labels: JSON.parse(labels) as object });

/** Returns a host's record as JSON text, with the facts that have columns of their own, and further fields. */
function hostText(host: ShownHost, fields: object = {}): string {
  const record = shownRecord(host);
  const kept: Record<string, string | number> = {};
  for (const fact of KEPT_FACTS) if (host[fact] !== null) kept[fact] = host[fact];
  const more = { ...kept, ...fields };
  return Object.keys(more).length === 0 ? record : `${record.slice(0, -1)},${JSON.stringify(more).slice(1)}`;
}

const member = (host: ShownHost, fields?: object): string =>
  `${JSON.stringify(host.host_id)}:${hostText(host, fields)}`;

/** Streams the view as JSON text: an object keyed by host id, in that order. */
async function* fleetText(statements: PreparedStatements, view: FleetKey, since: number): AsyncGenerator<string> {
  let opening = "{";
  for await (const page of hostPages(statements, view, since)) {
    if (page.length === 0) continue;
    const text = opening + page.map((host) => member(host)).join(",");
    opening = ",";
    yield text;
    // A client that reads as fast as the hub writes would otherwise block every other request until the last host.
    await setImmediate();
    countRows(text.length);
  }
  yield opening === "{" ? "{}" : "}";
}

function cursorOf(since: string | undefined, { changes, forgotten }: { changes: number; forgotten: number }): number {
  if (since === undefined || since === "") return 0;
  const cursor = /^\d{1,15}$/.test(since) ? Number(since) : undefined;
  if (cursor === undefined) throw unprocessable(`since: must be the ${CURSOR_HEADER} of an earlier answer.`);
  // A cursor from another database's past, or from before a host was forgotten, gets the whole view.
  return cursor > changes || cursor < forgotten ? 0 : cursor;
}

/** Fleet to show, the time, and what to do for a fleet without reports. */
export interface AskedFleet {
  view: FleetKey;
  /** Milliseconds since 1970. */
  now: number;
  /** Called for a view without reports; may throw 404. */
  ifEmpty?: () => Promise<void>;
}

/** Answers with a fleet view: all of it, its changes, or one page of a list. */
export async function sendFleetView(
  request: FastifyRequest,
  reply: FastifyReply,
  statements: PreparedStatements,
  query: FleetQuery,
  fleet: AskedFleet,
): Promise<FastifyReply> {
  const { since, ...list } = query;
  const isList = Object.values(list).some((value) => value !== undefined);
  if (isList && since !== undefined) throw unprocessable("since: goes without the parameters of a list.");
  const state = await viewState(statements, fleet.view);
  if (state.changes === 0) await fleet.ifEmpty?.();
  void reply.header(CURSOR_HEADER.toLowerCase(), String(state.changes));
  return isList
    ? sendList(request, reply, statements, list, fleet)
    : sendChanges(request, reply, statements, { view: fleet.view, state, since });
}

/** Facts of a report in the log that the record of its host lacks. */
interface Logged {
  plugins?: Record<string, unknown>[];
  log?: string[];
}

/**
 * Answers with one host: its record, its state, and further facts of its newest report.
 *
 * @typeParam Shown record of a host on the surface of its fleet
 * @throws HubError 404
 */
export async function hostDetail<Shown extends HostRecord>(
  statements: PreparedStatements,
  { view, now }: AskedFleet,
  id: string,
): Promise<Shown & HostDetail & { plugins?: Record<string, unknown>[] }> {
  const host = await findHost(statements, view, id);
  if (host === undefined) throw noSuchHost();
  const record = JSON.parse(hostText(host)) as Shown;
  const { plugins, log } = JSON.parse(host.logged ?? "{}") as Logged;
  const steps = JSON.parse(host.steps ?? "[]") as HostDetail["steps"];
  return {
    ...{ ...record, state: stateOfHost(record, now), steps },
    ...(log !== undefined && { log }),
    ...(plugins !== undefined && { plugins }),
  };
}

/** Streams a whole view or its changes from the database; an unchanged one costs one row (304). */
function sendChanges(
  request: FastifyRequest,
  reply: FastifyReply,
  statements: PreparedStatements,
  { view, state, since }: { view: FleetKey; state: Awaited<ReturnType<typeof viewState>>; since: string | undefined },
): FastifyReply {
  const { changes } = state;
  const cursor = cursorOf(since, state);
  const etag = cursor === 0 ? `"fleet-${changes}"` : `"fleet-${changes}-since-${cursor}"`;
  reply.headers({ etag, "cache-control": "private, no-cache" });
  if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send();
  if (cursor === 0) reply.header(WHOLE_HEADER.toLowerCase(), "true");
  reply.header("content-type", "application/json; charset=utf-8");
  if (request.method === "HEAD") return reply.send();
  if (changes === 0 || cursor === changes) return reply.send("{}");
  return reply.send(
    Readable.from(fleetText(statements, view, cursor), { objectMode: false, highWaterMark: 64 * 1024 }),
  );
}

/**
 * Returns the time before which a host must have been last heard of to be silent. @param now milliseconds since 1970
 */
export const silentBefore = (now: number): string => new Date(now - STALE_MS).toISOString();

const isState = (text: string): text is HostState => (HOST_STATES as readonly string[]).includes(text);

/** Reads a cursor: a state and the id of a host. @throws HubError 422 */
function placeOf(after: string): FleetCursor {
  const bad = () => unprocessable(`after: must be the ${NEXT_HEADER} of an earlier answer.`);
  let text: string;
  try {
    text = decodeURIComponent(after);
  } catch {
    throw bad();
  }
  const [state = "", id] = text.split(/:(.*)/s, 2);
  if (!isState(state) || id === undefined) throw bad();
  return { state, id };
}

async function sendList(
  request: FastifyRequest,
  reply: FastifyReply,
  statements: PreparedStatements,
  { limit = MOST_HOSTS, after, root_below: rootBelow, ...filter }: Omit<FleetQuery, "since">,
  { view, now }: AskedFleet,
): Promise<FastifyReply> {
  const { hosts, hasMore } = await listHosts(statements, view, {
    filter: { ...filter, rootBelow },
    after: after === undefined ? undefined : placeOf(after),
    limit,
    silentBefore: silentBefore(now),
  });
  const last = hosts.at(-1);
  // The state depends on the time, so no answer stays valid.
  reply.headers({ "cache-control": "private, no-store", "content-type": "application/json; charset=utf-8" });
  if (hasMore && last !== undefined)
    reply.header(NEXT_HEADER.toLowerCase(), encodeURIComponent(`${last.state}:${last.host_id}`));
  if (request.method === "HEAD") return reply.send();
  const members = hosts.map((host) => member(host, { state: host.state }));
  return reply.send(`{${members.join(",")}}`);
}
