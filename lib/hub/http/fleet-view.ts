import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { countRows } from "../buffer-collection.ts";
import { countChanges, hostPages, type HostRow, type View } from "../records/fleet.ts";
import type { Statements } from "../records/port.ts";
import { unprocessable } from "./errors.ts";
import { matchesEtag } from "./ranges.ts";

/** The header that carries the cursor for the next `?since=`. */
export const CURSOR_HEADER = "X-Cursor";

export const fleetQuery = z.object({
  since: z
    .string()
    .max(32)
    .optional()
    .describe(`Gives only hosts that changed since an earlier answer; its value is that answer's ${CURSOR_HEADER}.`),
});

const member = ({ host_id, record }: HostRow) => `${JSON.stringify(host_id)}:${record}`;

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

function cursorOf(since: string | undefined, changes: number): number {
  if (since === undefined || since === "") return 0;
  const cursor = /^\d{1,15}$/.test(since) ? Number(since) : undefined;
  if (cursor === undefined) throw unprocessable(`since: must be the ${CURSOR_HEADER} of an earlier answer.`);
  // The cursor of another database's past: everything is new.
  return cursor > changes ? 0 : cursor;
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
  const changes = await countChanges(statements, view);
  if (changes === 0) await ifEmpty?.();
  const cursor = cursorOf(since, changes);
  const etag = cursor === 0 ? `"fleet-${changes}"` : `"fleet-${changes}-since-${cursor}"`;
  reply.headers({ etag, "cache-control": "private, no-cache", [CURSOR_HEADER.toLowerCase()]: String(changes) });
  if (matchesEtag(request.headers["if-none-match"], etag)) return reply.code(304).send();
  reply.header("content-type", "application/json; charset=utf-8");
  if (request.method === "HEAD") return reply.send();
  if (changes === 0 || cursor === changes) return reply.send("{}");
  return reply.send(
    Readable.from(fleetText(statements, view, cursor), { objectMode: false, highWaterMark: 64 * 1024 }),
  );
}
