import t from "tap";
import { startHub } from "../../../../support/hub/harness.ts";
import { operatedFleet } from "../../../../support/hub/project-fleet.ts";
import { startReceiver } from "../../../../support/hub/receiver.ts";
import { QUICK } from "../../../../support/hub/rollouts.ts";
import { allowing, senderOf } from "../../../../support/hub/webhooks.ts";

t.test("webhooks hear of a hold at its entry, and once a day while it lasts", async (t) => {
  let now = Date.parse("2026-11-24T10:00:00Z");
  const hub = await startHub(t, { clock: () => now, ...allowing() });
  const fleet = await operatedFleet(hub);
  const receiver = await startReceiver(t);
  await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url, events: ["version.held"] } });
  await fleet.publish("1.0.0");
  const id = (await fleet.start({ version: "2.0.0", waves: ["100%"], ...QUICK })).body.id as string;
  await fleet.publish("2.0.0");
  await fleet.yank("2.0.0");
  await fleet.unyank("2.0.0");
  await fleet.act(id, "abort");
  const heard = async () => {
    await senderOf(hub.hub).idle();
    return receiver.received.length;
  };
  t.equal(await heard(), 1, "a halt is an entry, and an abort after it is none");
  t.match(receiver.received[0]!.body, { type: "version.held", data: { version: "2.0.0", rollout: id } });
  for (const [hours, count] of [
    [23, 1],
    [2, 2],
    [0, 2],
  ] as const) {
    now += hours * 60 * 60 * 1000;
    await hub.hub.upkeep.run();
    t.equal(await heard(), count);
  }
  await fleet.release("2.0.0");
  now += 48 * 60 * 60 * 1000;
  await hub.hub.upkeep.run();
  t.equal(await heard(), 2, "not of what is open");
});
