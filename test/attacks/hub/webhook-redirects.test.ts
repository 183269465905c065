import t from "tap";
import { Destinations } from "../../../lib/hub/base/destinations.ts";
import { post } from "../../../lib/hub/features/webhooks/exchange.ts";
import { startReceiver } from "../../support/hub/receiver.ts";

t.test("a redirect is checked as a webhook's address is, and keeps the message or is refused", async (t) => {
  const [receiver, inner] = [await startReceiver(t), await startReceiver(t)];
  const port = new URL(inner.url).port;
  const names: Record<string, string> = { "public.example": "127.0.0.1", "rebound.example": "127.0.0.3" };
  const destinations = new Destinations(["127.0.0.1"], async (host) => [{ address: names[host]!, family: 4 }]);
  const send = (status: number, location: string) => {
    receiver.answer = (response, { path }) =>
      path === "/" ? response.writeHead(status, { location }).end() : response.writeHead(204).end();
    const signal = AbortSignal.timeout(10_000);
    return post(destinations, new URL(receiver.url), { headers: { "webhook-id": "msg_1" }, body: "{}", signal });
  };
  const inward = [
    ...["http://169.254.169.254/latest/meta-data/", "http://[::ffff:169.254.169.254]/", "http://0xa9fea9fe/"],
    ...[`http://127.0.0.2:${port}/`, `http://rebound.example:${port}/`, "file:///etc/passwd", "gopher://127.0.0.1/"],
    ...["https://u:p@127.0.0.1/", "http://10.0.0.1/", "https://[::1]/"],
  ];
  for (const location of inward) {
    t.match(await send(307, location), { kind: "failed" }, location);
    t.match(await send(308, location), { kind: "failed" }, location);
  }
  for (const status of [301, 302, 303])
    t.match(await send(status, inner.url), { kind: "failed", error: /would lose the message/ }, String(status));
  t.match(await send(307, receiver.url), { kind: "failed", error: /loop/ });
  t.equal(inner.received.length, 0);

  t.match(await send(307, `http://public.example:${port}/there`), { kind: "delivered" });
  t.match(inner.received, [{ path: "/there", text: "{}", headers: { "webhook-id": "msg_1" } }]);
});
