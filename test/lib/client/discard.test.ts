import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import t, { type Test } from "tap";
import { type HttpRequest, send } from "../../../lib/client/http.ts";
import { until } from "../../support/until.ts";

const TIMEOUT_MS = 10_000;

/** Polls have not changed, and everything else waits until it is answered here. */
async function serve(t: Test) {
  let connections = 0;
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") response.writeHead(304).end();
    else held.push(response);
  });
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const request = (method: "GET" | "POST"): HttpRequest => ({
    ...{ operation: method === "GET" ? "latest" : "report", method, url },
    ...(method === "POST" && { json: {} }),
  });
  return { request, held, connections: () => connections };
}

t.test("giving up an answer leaves the connection alone once another request has it", async (t) => {
  const { request, held, connections } = await serve(t);
  const poll = await send(request("GET"), { timeoutMs: TIMEOUT_MS });
  // The answer has no body: its connection is free now, and the next request takes it.
  for (let turns = 0; turns < 20; turns++) await turn();
  const reporting = send(request("POST"), { timeoutMs: TIMEOUT_MS });
  await until(() => held.length !== 0);
  t.equal(connections(), 1);
  poll.discard();
  held[0]!.end("{}");
  const report = await reporting;
  t.equal(report.status, 200);
  t.equal(Buffer.concat(await report.body.toArray()).toString(), "{}");
});

t.test("polls that find nothing new keep their connection", async (t) => {
  const { request, connections } = await serve(t);
  for (let polls = 0; polls < 5; polls++) {
    const poll = await send(request("GET"), { timeoutMs: TIMEOUT_MS });
    poll.discard();
    for (let turns = 0; turns < 20; turns++) await turn();
  }
  t.equal(connections(), 1);
});
