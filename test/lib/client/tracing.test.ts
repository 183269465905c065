import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { download } from "../../../lib/client/download.ts";
import { send } from "../../../lib/client/http.ts";
import { parseTraceparent } from "../../../lib/support/trace-context.ts";
import { startTracing } from "../../../lib/support/tracing/start.ts";
import { traced } from "../../../lib/support/work.ts";
import { startCollector } from "../../support/collector.ts";

/** A server that keeps the headers of its requests. */
async function listener(t: Test, location?: string): Promise<{ url: string; requests: IncomingHttpHeaders[] }> {
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    requests.push(request.headers);
    if (location === undefined) response.end("bytes");
    else response.writeHead(307, { location }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

t.test("the trace goes to the hub only, never to another origin", async (t) => {
  await using collector = await startCollector();
  const facts = { service: "test", version: "1", warn: (message: string) => t.fail(message) };
  await using _tracing = startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, facts);
  const bucket = await listener(t);
  const hub = await listener(t, `${bucket.url}/object?X-Amz-Signature=1`);
  const transport = { hubUrl: hub.url, timeoutMs: 30_000 };
  const bytesFrom = async (url: string): Promise<void> => {
    for await (const _chunk of download({ ...transport, url, renew: async () => url, maxBytes: 100 }));
  };
  await traced("work", {}, async () => {
    const answer = await send({ operation: "detail", method: "GET", url: `${hub.url}/detail` }, transport);
    answer.body.resume();
    await bytesFrom(`${hub.url}/bytes`);
    await bytesFrom(`${bucket.url}/object?X-Amz-Signature=1`);
  });
  const bare = await send({ operation: "detail", method: "GET", url: `${hub.url}/poll` }, transport);
  bare.body.resume();
  const ids = hub.requests.map(({ traceparent }) => parseTraceparent(traceparent)?.traceId);
  t.equal(ids.length, 3);
  t.ok(ids[0]);
  t.equal(ids[1], ids[0]);
  t.equal(ids[2], undefined, "a poll begins no trace");
  t.equal(bucket.requests.length, 4);
  for (const headers of bucket.requests) t.notHas(headers, { traceparent: String });
});
