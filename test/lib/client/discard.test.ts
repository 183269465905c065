import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
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
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const request = (method: "GET" | "POST"): HttpRequest => ({
    ...{ operation: method === "GET" ? "latest" : "report", method, url },
    ...(method === "POST" && { json: {} }),
  });
  return { request, held, port, connections: () => connections };
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

/** Returns the kernel's timer of each connection to a port: 2 where it asks whether the server lives. */
const timersTo = (port: number): string[] =>
  readFileSync("/proc/self/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(
      (fields) => fields[2]?.endsWith(`:${port.toString(16).toUpperCase().padStart(4, "0")}`) && fields[3] === "01",
    )
    .map((fields) => fields[5]!.split(":")[0]!);

t.test("an exchange that waits has the kernel send nothing", { skip: process.platform !== "linux" }, async (t) => {
  const { request, held, port } = await serve(t);
  const reporting = send(request("POST"), { timeoutMs: TIMEOUT_MS });
  await until(() => held.length !== 0);
  t.same(timersTo(port), ["00"]);
  held[0]!.end("{}");
  (await reporting).discard();
});

t.test("a GET on a kept connection that was closed meanwhile is sent once more, a POST is not", async (t) => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections++;
    socket.on("error", () => undefined);
    let requests = 0;
    socket.on("data", () => {
      if (++requests > 1) socket.resetAndDestroy();
      else socket.write("HTTP/1.1 304 Not Modified\r\netag: 1\r\n\r\n");
    });
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const ask = async (method: "GET" | "POST") => {
    const answer = await send({ operation: "latest", method, url }, { timeoutMs: TIMEOUT_MS });
    answer.discard();
    for (let turns = 0; turns < 20; turns++) await turn();
    return answer.status;
  };
  t.equal(await ask("GET"), 304);
  t.equal(await ask("GET"), 304);
  t.equal(connections, 2);
  await t.rejects(ask("POST"), { code: "connection_failed" });
  t.equal(connections, 2);
});
