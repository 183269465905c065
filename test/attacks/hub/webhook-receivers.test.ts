import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { Destinations } from "../../../lib/hub/base/destinations.ts";
import { post } from "../../../lib/hub/features/webhooks/exchange.ts";

const destinations = new Destinations(["127.0.0.1"]);

/** A receiver that answers with whatever bytes it likes. */
async function hostile(t: Test, answer: (socket: Socket) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/s3cret`);
}

const send = (url: URL, timeoutMs = 10_000) =>
  post(destinations, url, { headers: {}, body: "{}", signal: AbortSignal.timeout(timeoutMs) });

t.test("an endless answer is not read to its end", async (t) => {
  let sent = 0;
  const url = await hostile(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk)) sent += 0x4000;
    };
    socket.on("drain", more);
    more();
  });
  t.match(await send(url), { kind: "delivered" });
  t.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
});

t.test("an answer that drips holds a turn for a second, and one that never begins for its time", async (t) => {
  const drips = await hostile(t, (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx"));
  t.match(await send(drips), { kind: "delivered" });
  const silent = await hostile(t, () => {});
  t.match(await send(silent, 200), { kind: "failed", error: "the receiver took too long" });
  const dripping = await hostile(t, (socket) => {
    const timer = setInterval(() => socket.write("x"), 20);
    socket.once("close", () => clearInterval(timer));
    socket.write("HTTP/1.1 200 OK\r\nx-header: ");
  });
  t.match(await send(dripping, 200), { kind: "failed", error: "the receiver took too long" });
});

t.test("headers without end, no HTTP at all, and an end in the middle are failures without the address", async (t) => {
  const answers = [
    `HTTP/1.1 200 OK\r\nx-header: ${"x".repeat(1024 * 1024)}\r\n\r\n`,
    `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(100_000)}\r\n`,
    "SSH-2.0-OpenSSH_9.9\r\n",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 99999 Nonsense\r\n\r\n",
  ];
  for (const answer of answers) {
    const outcome = await send(await hostile(t, (socket) => socket.end(answer)));
    t.match(outcome, { kind: "failed", error: /no connection, or it broke off/ }, answer.slice(0, 30));
    t.notMatch(JSON.stringify(outcome), /s3cret/);
  }
  const url = await hostile(t, (socket) => socket.end("HTTP/1.1 429 No\r\nretry-after: 99999999999\r\n\r\n"));
  t.match(await send(url), { kind: "failed", error: "the receiver answered 429" });
});
