import type { LookupAddress } from "node:dns";
import t from "tap";
import { Destinations } from "../../../lib/hub/base/destinations.ts";
import { post } from "../../../lib/hub/features/webhooks/exchange.ts";
import { startReceiver } from "../../support/hub/receiver.ts";

const message = { headers: {}, body: "{}" };
const send = (destinations: Destinations, url: URL) =>
  post(destinations, url, { ...message, signal: AbortSignal.timeout(10_000) });
const address = (text: string): LookupAddress => ({ address: text, family: text.includes(":") ? 6 : 4 });

t.test("a name that leads elsewhere after it was checked is not followed there", async (t) => {
  const receiver = await startReceiver(t);
  const port = new URL(receiver.url).port;
  const answers = [["93.184.216.34"], ["127.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254", "10.0.0.1"], ["::1"]];
  let asked = 0;
  const destinations = new Destinations([], async () => answers[asked++]!.map(address));
  const url = destinations.parse(`https://rebinding.example:${port}/`);
  await destinations.checkNow(url);
  while (asked < answers.length)
    t.match(await send(destinations, url), { kind: "failed", error: /private address/ }, `look-up ${asked}`);
  t.equal(receiver.received.length, 0);
});

t.test("of a name's addresses only those are called that were checked, in the same answer", async (t) => {
  const receiver = await startReceiver(t);
  const port = new URL(receiver.url).port;
  let asked = 0;
  const resolve = async () => (asked++ === 0 ? [address("127.0.0.9"), address("127.0.0.1")] : [address("127.0.0.9")]);
  const destinations = new Destinations(["127.0.0.1/32"], resolve);
  t.match(await send(destinations, new URL(`http://pinned.example:${port}/`)), { kind: "delivered" });
  t.equal(asked, 1, "the connection asks no name server again");
  t.equal(receiver.received[0]!.headers.host, `pinned.example:${port}`);
  t.match(await send(destinations, new URL(`http://pinned.example:${port}/`)), { kind: "failed" });
  t.equal(receiver.received.length, 1);
});

t.test("a name server that never answers holds nobody for long", async (t) => {
  const destinations = new Destinations([], () => new Promise(() => {}), 10);
  await t.rejects(destinations.checkNow(new URL("https://silent.example/")), {
    message: "names a host that cannot be found: ETIMEOUT",
  });
});
