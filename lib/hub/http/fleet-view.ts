import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { matchesEtag } from "../../support/network/entity-tags.ts";
import { countRows } from "../ground/buffer-collection.ts";
import { notFound, unprocessable } from "../ground/errors.ts";
import { hostPages, type HostRow, type View, viewState } from "../records/fleet.ts";
import type { Statements } from "../records/port.ts";

/** The header that carries the cursor for the next `?since=`. */
export const CURSOR_HEADER = "X-Cursor";

/** The header of an answer with every host of the view, though only changes were asked for: others are gone. */
export const WHOLE_HEADER = "X-Whole-View";

export const noSuchHost = () => notFound("The fleet has no such host.");

export const fleetQuery = z.object({
  since: z
    .string()
    .max(32)
    .optional()
    .describe(`Gives only hosts that changed since an earlier answer; its value is that answer's ${CURSOR_HEADER}.`),
});

/** Returns a host's record as the view shows it: with the labels that an operator gave it. */
const shownRecord = ({ record, labels }: HostRow): string =>
  labels === null
    ? record
    : JSON.stringify({ ...(JSON.parse(record) as object), labels: JSON.parse(labels) as object });

function member(host: HostRow): string {
  const record = shownRecord(host);
  const { host_id: id, seen_at: seenAt } = host;
  return `${JSON.stringify(id)}:${seenAt === null ? record : `${record.slice(0, -1)},"seen_at":"${seenAt}"}`}`;
}

/** The view as JSON text: an object keyed by host id, in host-id order, piece by piece. */
async function* fleetText(statements: Statements, view: View, since: number): AsyncGenerator<string> {
  let opening = "{";
  for await (const page of hostPages(statements, view, since)) {
    if (page.length === 0) continue;
    const text = opening + page.map(member).join(",");
    opening = ",";
    yield text;
    // A client that reads as fast as we write would otherwise keep every other request waiting until the last host.
    await setImmediate();
    countRows(text.length);
  }
  yield opening === "{" ? "{}" : "}";
}

function cursorOf(since: string | undefined, { changes, forgotten }: { changes: number; forgotten: number }): number {
  if (since === undefined || since === "") return 0;
  const cursor = /^\d{1,15}$/.test(since) ? Number(since) : undefined;
  if (cursor === undefined) throw unprocessable(`since: must be the ${CURSOR_HEADER} of an earlier answer.`);
  // The cursor of another database's past, or from before a host was forgotten: the answer is the whole view.
  return cursor > changes || cursor < forgotten ? 0 : cursor;
}

/**
 * Answers with a fleet view, streamed from the database; unchanged ones cost one row (304).
 *
 * @param ifEmpty decides what a view without any report is; it may throw 404
 */
export async function sendFleetView(
  request: FastifyRequest,
  reply: FastifyReply,
  statements: Statements,
  view: View,
  { since, ifEmpty }: { since: string | undefined; ifEmpty?: () => Promise<void> },
): Promise<FastifyReply> {
  const state = await viewState(statements, view);
  const { changes } = state;
  if (changes === 0) await ifEmpty?.();
  const cursor = cursorOf(since, state);
  const etag = cursor === 0 ? `"fleet-${changes}"` : `"fleet-${changes}-since-${cursor}"`;
  reply.headers({ etag, "cache-control": "private, no-cache", [CURSOR_HEADER.toLowerCase()]: String(changes) });
  if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send();
  if (cursor === 0) reply.header(WHOLE_HEADER.toLowerCase(), "true");
  reply.header("content-type", "application/json; charset=utf-8");
  if (request.method === "HEAD") return reply.send();
  if (changes === 0 || cursor === changes) return reply.send("{}");
  return reply.send(
    Readable.from(fleetText(statements, view, cursor), { objectMode: false, highWaterMark: 64 * 1024 }),
  );
}
