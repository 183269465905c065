/* oxlint-disable typescript/no-unsafe-return -- answers are JSON of any shape */
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { startReceiver } from "../../support/hub/receiver.ts";
import { allowing } from "../../support/hub/webhooks.ts";

const report = (host: string) => ({
  ...{ kind: "plugin", slug: "tide", version: "1.0.0", status: "failed", host_id: host, error_message: "no port" },
  ...{ started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:00Z" },
});

t.test("receivers of one owner that never answer leave the messages of the others their turns", async (t) => {
  const hub = await startHub(t, { ...allowing(), rateLimits: false });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const keyOf = async (owner: string): Promise<string> => {
    const json = { name: owner, owner, scopes: ["projects", "report", "read"] };
    return (await hub.call("POST", "/devkeys/api-keys", { json })).body.key;
  };
  const [mallory, bob] = [await keyOf("mallory"), await keyOf("bob")];
  const [tarpit, receiver] = [await startReceiver(t), await startReceiver(t)];
  tarpit.answer = () => {};
  for (let webhook = 0; webhook < 20; webhook++)
    await hub.call("POST", "/devkeys/webhooks", { key: mallory, json: { url: `${tarpit.url}/${webhook}` } });
  await hub.call("POST", "/devkeys/webhooks", { key: bob, json: { url: receiver.url } });
  const tell = (key: string, host: string) =>
    hub.call("POST", "/app/deployments/deployments/report", { key, json: report(host) });
  for (let host = 0; host < 5; host++) await tell(mallory, `m${host}`);
  await tarpit.until(8);
  // Time to take more, if it did.
  await sleep(1500);
  t.equal(tarpit.received.length, 8, "half of all turns");
  await tell(bob, "b");
  await receiver.until(1);
  t.match(receiver.received[0]!.body, { type: "host.failed", data: { host_id: "b" } });
});
