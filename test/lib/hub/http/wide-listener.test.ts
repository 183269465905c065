import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import t from "tap";
import { createHub } from "../../../../lib/hub/hub.ts";
import { startHub } from "../../../support/hub/harness.ts";

const skip = process.platform !== "linux" && "the hub has one listener there";

t.test("connections that come at once are accepted in a few turns of the event loop", { skip }, async (t) => {
  const { hub } = await startHub(t);
  const { port } = hub.app.server.address() as AddressInfo;
  const count = 64;
  let accepted = 0;
  hub.app.server.on("connection", () => accepted++);
  const clients = Array.from({ length: count }, () => connect({ host: "127.0.0.1", port }));
  t.teardown(() => clients.forEach((client) => client.destroy()));
  let turns = 0;
  while (accepted < count) {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.ok(turns < count / 2, `${turns} turns`);
});

t.test("an address that another hub has is refused, whoever may share it", async (t) => {
  const { hub } = await startHub(t);
  const { port } = hub.app.server.address() as AddressInfo;
  const other = await createHub({ dataDir: join(t.testdir(), "other"), listen: { host: "127.0.0.1", port } });
  t.teardown(() => other.close());
  await t.rejects(other.listen(), { code: "EADDRINUSE" });
});

t.test("a hub that closes ends the connections of all its listeners", async (t) => {
  const { hub } = await startHub(t);
  const { port } = hub.app.server.address() as AddressInfo;
  const count = 32;
  let accepted = 0;
  const all = new Promise<void>((resolve) => hub.app.server.on("connection", () => ++accepted === count && resolve()));
  const clients = Array.from({ length: count }, () => connect({ host: "127.0.0.1", port }));
  await all;
  const ended = clients.map((client) => once(client.resume(), "close"));
  await hub.close();
  await Promise.all(ended);
  const late = connect({ host: "127.0.0.1", port });
  const [error] = (await once(late, "error")) as [NodeJS.ErrnoException];
  t.equal(error.code, "ECONNREFUSED");
});
