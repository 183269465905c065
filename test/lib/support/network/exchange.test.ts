import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { exchange } from "../../../../lib/support/network/exchange.ts";
import { until } from "../../../support/until.ts";

async function serve(t: Test, server: Server): Promise<URL> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const answering = (t: Test, listener: RequestListener): Promise<URL> => {
  const server = createServer(listener);
  t.teardown(() => server.closeAllConnections());
  return serve(t, server);
};

t.test("headers that drip are given up after the time limit, although the connection is never silent", async (t) => {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
    const timer = setInterval(() => socket.write("a"), 50);
    socket.once("close", () => clearInterval(timer));
  });
  const url = await serve(t, server);
  await t.rejects(exchange(url, { timeoutMs: 400 }), { message: "no byte came (response)" });
});

t.test("a body that falls silent is given up", async (t) => {
  const url = await answering(t, (_request, response) => response.writeHead(200).write("a"));
  const { body } = await exchange(url, { timeoutMs: 300 });
  await t.rejects(body.toArray(), { message: "no byte came (socket)" });
});

t.test("a reader that is silent for longer than the time limit still gets the whole body", async (t) => {
  const bytes = 30 * 1024 * 1024;
  const url = await answering(t, (_request, response) => response.end(Buffer.alloc(bytes)));
  const { body } = await exchange(url, { timeoutMs: 200 });
  let received = 0;
  for await (const chunk of body) {
    // Far more than all buffers of both ends hold is still to come.
    if (received === 0) await sleep(1000);
    received += (chunk as Buffer).length;
  }
  t.equal(received, bytes);
});

t.test("an abort ends the body", async (t) => {
  const url = await answering(t, (_request, response) => response.writeHead(200).write("a"));
  const abort = new AbortController();
  const { body } = await exchange(url, { timeoutMs: 60_000, signal: abort.signal });
  abort.abort();
  await t.rejects(body.toArray());
});

const pausing = (pauseMs: number): AsyncIterable<Uint8Array> =>
  (async function* () {
    yield Buffer.from("a");
    await sleep(pauseMs);
    yield Buffer.from("b");
  })();

t.test("a sender that pauses for longer than the time limit still sends all", async (t) => {
  const url = await answering(t, (request, response) => request.pipe(response.writeHead(200)));
  const headers = { "transfer-encoding": "chunked" };
  const { body } = await exchange(url, { method: "POST", headers, timeoutMs: 200 }, pausing(700));
  t.equal(Buffer.concat(await body.toArray()).toString(), "ab");
});

t.test("an early answer ends the sending, and a source that fails ends the request", async (t) => {
  const url = await answering(t, (_request, response) => response.writeHead(401).end("no"));
  let closed = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        yield Buffer.alloc(64 * 1024);
        await sleep(1);
      }
    } finally {
      closed = true;
    }
  }
  const headers = { "transfer-encoding": "chunked" };
  const sending = endless();
  const { status, body } = await exchange(url, { method: "POST", headers, timeoutMs: 5000 }, sending);
  t.equal(status, 401);
  t.equal(Buffer.concat(await body.toArray()).toString(), "no");
  await until(() => closed);
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("a");
    throw new Error("the file changed");
  }
  const silent = await answering(t, () => {});
  const failed = exchange(silent, { method: "POST", headers, timeoutMs: 60_000 }, failing());
  await t.rejects(failed, { cause: { message: "the file changed" } });
});
