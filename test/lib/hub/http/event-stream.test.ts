import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { EventStream } from "../../../../lib/hub/http/event-stream.ts";

const FRAME = Buffer.from(`data: ${"x".repeat(16 * 1024)}\n\n`);

/** A stream whose client reads nothing until it is resumed. */
async function unread(t: Test, stuckMs: number) {
  const answered = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => answered.resolve(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.teardown(() => client.destroy());
  client.on("error", () => {});
  client.pause();
  client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  const response = await answered.promise;
  let drained = 0;
  const stream = new EventStream(response, stuckMs);
  stream.begin({}, () => drained++);
  for (let sent = 0; sent < 2000 && !response.writableNeedDrain; sent++) {
    stream.send(FRAME);
    await sleep(0);
  }
  t.ok(response.writableNeedDrain, "the connection takes no more");
  return { response, client, stream, drained: () => drained };
}

t.test("a client that takes nothing costs one buffer, whatever is hinted, and is ended", async (t) => {
  const { response, stream } = await unread(t, 50);
  const buffered = response.writableLength;
  for (let sent = 0; sent < 1000; sent++) stream.send(FRAME);
  stream.beat();
  t.equal(response.writableLength, buffered);
  t.notOk(response.destroyed, "it has some time");
  await sleep(60);
  const closed = once(response, "close");
  stream.beat();
  await closed;
});

t.test("a client that was behind is told everything once it reads again", async (t) => {
  const { response, client, stream, drained } = await unread(t, 60_000);
  stream.send(FRAME);
  t.equal(drained(), 0);
  client.resume();
  await once(response, "drain");
  t.equal(drained(), 1);
  stream.beat();
  t.notOk(response.destroyed);
});

t.test("a client that was slow and missed nothing is told nothing", async (t) => {
  const { response, client, drained } = await unread(t, 60_000);
  client.resume();
  await once(response, "drain");
  t.equal(drained(), 0);
});
