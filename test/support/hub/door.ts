/** A door before a hub: it lets requests pass, remembers them, and makes trouble when it is told to. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";

export interface Passage {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  /** The status of the answer; undefined when there was none. */
  status?: number;
  /** The hub's body. */
  bytes?: number;
}

/** The troubles that may happen at the door. */
export type Trouble =
  | { kind: "none" }
  /** The connection is lost, before the hub hears of the request or before its answer is there. */
  | { kind: "lost"; heard: boolean }
  | { kind: "answer"; status: number; retryAfter?: number }
  /** The answer ends in the middle. */
  | { kind: "truncated" }
  | { kind: "delayed"; ms: number };

export interface Door {
  url: string;
  passages: Passage[];
  /** The address of the hub. */
  hub: string;
  /** Decides about each request. */
  trouble: (passage: Passage) => Trouble;
}

export async function startDoor(t: Test): Promise<Door> {
  const door: Door = { url: "", hub: "", passages: [], trouble: () => ({ kind: "none" }) };
  const server = createServer((incoming, response) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    const passage: Passage = { method, path, headers };
    door.passages.push(passage);
    response.on("error", () => {});
    void pass(door, incoming, response, passage).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  door.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return door;
}

async function pass(door: Door, incoming: IncomingMessage, response: ServerResponse, passage: Passage): Promise<void> {
  const trouble = door.trouble(passage);
  if (trouble.kind === "lost" && !trouble.heard) {
    response.destroy();
    return;
  }
  if (trouble.kind === "answer") {
    incoming.resume();
    passage.status = trouble.status;
    const { retryAfter } = trouble;
    if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    response.writeHead(trouble.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: "not now", detail: "not now", code: "unavailable" }));
    return;
  }
  if (trouble.kind === "delayed") await sleep(trouble.ms, undefined, { ref: false });
  const answer = await forward(door, incoming, passage);
  passage.status = answer.status;
  passage.bytes = answer.body.length;
  if (trouble.kind === "lost") {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, answer.headers);
  if (trouble.kind === "truncated" && answer.body.length > 0) {
    // Its length was said: whoever reads it sees that something is missing.
    response.write(answer.body.subarray(0, answer.body.length >> 1), () => response.destroy());
    return;
  }
  response.end(answer.body);
}

function forward(
  { hub }: Door,
  incoming: IncomingMessage,
  { method, path, headers }: Passage,
): Promise<{ status: number; headers: Record<string, string>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(hub + path, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => {
        const { statusCode = 500, headers: answered } = answer;
        // A connection is the door's own.
        const { connection: _connection, "keep-alive": _keepAlive, ...kept } = answered as Record<string, string>;
        resolve({ status: statusCode, headers: kept, body: Buffer.concat(chunks) });
      });
    });
    outgoing.on("error", reject);
    incoming.on("error", reject);
    incoming.pipe(outgoing);
  });
}
