/** A hub that drips bytes: no silence is long enough for a time-out, and two such downloads held a watch for ever. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { hubConnection } from "../../../commands/shell/connection.ts";
import { download } from "../../../lib/client/download.ts";
import { atLeastRate } from "../../../lib/client/least-rate.ts";
import { MarketplaceClient } from "../../../lib/client/marketplace-client.ts";

/** Answers with a byte each 20 ms, for ever. */
async function drippingHub(t: Test, headers: Record<string, string>): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, headers);
    const timer = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const slow = { timeoutMs: 10_000, leastRate: { bytesPerSecond: 10_000, overMs: 300 } };

t.test("a download that drips is given up", async (t) => {
  const url = await drippingHub(t, { "content-length": "100000" });
  const body = download({ url, ...slow, maxBytes: 1_000_000, renew: () => Promise.resolve(url) });
  await t.rejects(Array.fromAsync(body), { kind: "ArtifactError", code: "too_slow", exitCode: 75 });
});

t.test("an archive of the marketplace that drips is given up", async (t) => {
  const hubUrl = await drippingHub(t, { "content-length": "100000", "x-signature": `hmac_sha256:${"0".repeat(64)}` });
  const client = new MarketplaceClient("plugin", "tides", { hubUrl, apiKey: "k", ...slow });
  const fetched = client.install("1.0.0", async (_headers, body) => {
    for await (const _ of body);
  });
  await t.rejects(fetched, { kind: "ArtifactError", code: "too_slow" });
});

t.test("the operator says how slow a download may be", async (t) => {
  const given = { hubUrl: "http://hub.example", apiKey: "k", timeoutMs: undefined };
  t.equal(hubConnection(given, 1_000).leastRate, undefined);
  t.same(hubConnection({ ...given, leastRate: 10_000 }, 1_000).leastRate, { bytesPerSecond: 10_000, overMs: 30_000 });
  const chunks = async function* () {
    yield Buffer.alloc(1);
    yield Buffer.alloc(1);
  };
  const tooSlow = () => new Error("too slow");
  const none = atLeastRate(chunks(), tooSlow, { bytesPerSecond: 0, overMs: 0 });
  t.equal((await Array.fromAsync(none)).length, 2, "0 waits for any");
});

t.test("a reader that takes its time is not a slow hub", async (t) => {
  const server = createServer((_request, response) => response.end(Buffer.alloc(400_000)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let bytes = 0;
  const options = {
    url,
    timeoutMs: 10_000,
    leastRate: { bytesPerSecond: 1_000_000, overMs: 400 },
    maxBytes: 1_000_000,
  };
  for await (const chunk of download({ ...options, renew: () => Promise.resolve(url) })) {
    bytes += chunk.length;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  t.equal(bytes, 400_000);
});
