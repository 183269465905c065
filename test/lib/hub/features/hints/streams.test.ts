import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { Changes } from "../../../../../lib/hub/features/hints/changes.ts";
import { HintStreams, type HintSubscription } from "../../../../../lib/hub/features/hints/streams.ts";
import { openDatabase } from "../../../../../lib/hub/records/database.ts";
import { until } from "../../../../support/until.ts";

const questionOf = (owner: string): HintSubscription => {
  const sight = new Map([["prj_1", "project:prj_1"]]);
  return {
    id: `${owner} project:prj_1`,
    owner,
    keyId: owner,
    host: undefined,
    visible: sight,
    look: async () => sight,
  };
};

/** The streams of a hub with so many connections, and clients that ask for them. */
async function asked(t: Test, connections: number) {
  const database = await openDatabase({ hooks: FEATURES, dataDir: t.testdir() });
  const changes = new Changes(database);
  const streams = new HintStreams(changes, connections);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(async () => {
    await streams[Symbol.asyncDispose]();
    await changes[Symbol.asyncDispose]();
    await database.close();
    server.closeAllConnections();
    server.close();
  });
  const ask = async (): Promise<{ client: Socket; response: ServerResponse }> => {
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
    client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
    return { client, response };
  };
  const open = async (owner: string): Promise<Socket> => {
    const { client, response } = await ask();
    streams.open(response, questionOf(owner), {});
    return client;
  };
  return { streams, ask, open };
}

t.test("streams leave a quarter of the connections to polls, and an owner a quarter of them to others", async (t) => {
  const { streams, open } = await asked(t, 8);
  t.equal(streams.numbers.most, 6);
  const first = await open("alice");
  for (let count = 1; count < 5; count++) await open("alice");
  const refused = { statusCode: 429, code: "rate_limited", headers: { "retry-after": "60" } };
  await t.rejects(open("alice"), refused);
  await open("bob");
  await t.rejects(open("bob"), { statusCode: 503, code: "hub_unavailable", headers: { "retry-after": "60" } });
  t.equal(streams.numbers.open, 6);

  first.destroy();
  await until(() => streams.numbers.open !== 6);
  await open("alice");
  t.equal(streams.numbers.open, 6, "the room of one that has left is another's");
});

t.test("a client that left while its key was looked up takes no room", async (t) => {
  const { streams, ask } = await asked(t, 8);
  const { client, response } = await ask();
  const closed = once(response, "close");
  client.destroy();
  await closed;
  streams.open(response, questionOf("alice"), {});
  t.equal(streams.numbers.open, 0);
});
