/** A slow line to a hub or mirror: it counts the bytes of artifacts and archives that pass. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";

/** A download as it went over the line. */
export interface Carried {
  path: string;
  range: string | undefined;
  ifRange: string | undefined;
  status: number;
  /** Bytes of its body that have passed. */
  bytes: number;
}

export interface SlowLine {
  url: string;
  downloads: Carried[];
  /** Bytes a second of each download; Infinity for none. */
  bytesPerSecond: number;
  /** Changes the head of an answer with bytes. */
  heads: (headers: Record<string, string>) => Record<string, string>;
  /** Changes a piece of a download. */
  pieces: (piece: Buffer) => Buffer;
  /** Ends all connections. */
  cut(): void;
}

const STEP_BYTES = 4096;

/** @param hub URL of the server behind the line; the same place in its JSON answers becomes the line's own */
export async function startSlowLine(t: Test, hub: () => string): Promise<SlowLine> {
  const server = createServer((incoming, response) => {
    carry(line, hub(), incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const line: SlowLine = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    downloads: [],
    bytesPerSecond: Infinity,
    heads: (headers) => headers,
    pieces: (piece) => piece,
    cut: () => server.closeAllConnections(),
  };
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return line;
}

async function carry(line: SlowLine, hub: string, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on("error", () => {});
  const { method = "GET", url: path = "/", headers } = incoming;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(hub + path, { method, headers }, resolve).on("error", reject);
    incoming.on("error", reject).pipe(outgoing);
  });
  const { statusCode: status = 500, headers: answered } = answer;
  const { connection: _connection, "keep-alive": _keepAlive, ...kept } = answered as Record<string, string>;
  if (kept["content-type"]?.startsWith("application/json") === true) {
    const text = Buffer.concat(await answer.toArray())
      .toString()
      .replaceAll(hub, line.url);
    response.writeHead(status, { ...kept, "content-length": Buffer.byteLength(text) });
    response.end(text);
    return;
  }
  const { range, "if-range": ifRange } = headers;
  const carried: Carried = { path, range, ifRange: ifRange as string | undefined, status, bytes: 0 };
  // Hints are a stream, too.
  if (/octet-stream|zip/.test(kept["content-type"] ?? "")) line.downloads.push(carried);
  response.writeHead(status, line.heads(kept));
  const closed = new AbortController();
  const { signal } = closed;
  response.once("close", () => closed.abort());
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; at += STEP_BYTES) {
      const piece = line.pieces(chunk.subarray(at, at + STEP_BYTES));
      if (response.destroyed) return void answer.destroy();
      if (Number.isFinite(line.bytesPerSecond)) await sleep((piece.length / line.bytesPerSecond) * 1000);
      carried.bytes += piece.length;
      if (!response.write(piece)) await once(response, "drain", { signal });
    }
  }
  response.end();
}
