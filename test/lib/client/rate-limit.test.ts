// Holds: how fast downloads may come (lib/client/rate-limit.ts)
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import * as z from "zod";
import { download } from "../../../lib/client/download.ts";
import { call } from "../../../lib/client/json-request.ts";
import { RateLimit } from "../../../lib/client/rate-limit.ts";

const BYTES = 300_000;
const RATE = 400_000;
/** Bytes that come at once, and what a busy machine takes longer. */
const [LEAST_MS, MOST_MS] = [(BYTES / RATE) * 1000 - 300, 20_000];

async function serve(t: Test): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === "/json") response.end(JSON.stringify({ text: "x".repeat(BYTES) }));
    else response.writeHead(200, { "content-length": BYTES }).end(Buffer.alloc(BYTES, 7));
  }).listen(0, "127.0.0.1");
  t.teardown(() => (server.closeAllConnections(), server.close()));
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fetched(url: string, rateLimit: RateLimit | undefined, signal?: AbortSignal): Promise<number> {
  const began = performance.now();
  const limits = { timeoutMs: 5000, maxBytes: 1e6, ...(rateLimit && { rateLimit }), ...(signal && { signal }) };
  let bytes = 0;
  for await (const chunk of download({ url, renew: async () => url, ...limits })) bytes += chunk.length;
  if (bytes !== BYTES) throw new Error(`${bytes} bytes`);
  return performance.now() - began;
}

t.test("a download comes no faster than its bound, and two that share one no faster together", async (t) => {
  const url = await serve(t);
  const alone = await fetched(url, new RateLimit(RATE));
  t.ok(alone > LEAST_MS && alone < MOST_MS, `${alone} ms`);
  const shared = new RateLimit(RATE);
  const both = Math.max(...(await Promise.all([fetched(url, shared), fetched(url, shared)])));
  t.ok(both > 2 * LEAST_MS + 300, `${both} ms`);
  t.ok((await fetched(url, undefined)) < LEAST_MS, "without one it waits for nothing");
});

t.test("an abort ends a download that waits for its bound", async (t) => {
  const url = await serve(t);
  const stop = new AbortController();
  const began = performance.now();
  setTimeout(() => stop.abort(), 100);
  await t.rejects(fetched(url, new RateLimit(1024), stop.signal), { name: "AbortError" });
  t.ok(performance.now() - began < 5000);
});

t.test("answers that are no bytes of an artifact are not bounded", async (t) => {
  const url = await serve(t);
  const limits = { timeoutMs: 5000, rateLimit: new RateLimit(1024) };
  const answer = await call({ operation: "latest", method: "GET", url: `${url}/json` }, z.looseObject({}), limits);
  t.equal((answer["text"] as string).length, BYTES);
});
