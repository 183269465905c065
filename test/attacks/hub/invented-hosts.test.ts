import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { operatedFleet, until } from "../../support/hub/project-fleet.ts";
import { QUICK } from "../../support/hub/rollouts.ts";

/** A key that may report invents hosts, to carry a rollout past its canary or to halt it. */

const CANARY = { labels: { env: "canary" } };

t.test("hosts that somebody invents carry no rollout on, halt none, and get nothing early", async (t) => {
  const fleet = await operatedFleet(await startHub(t));
  await fleet.publish("1.0.0");
  await fleet.report("canary", "1.0.0", CANARY);
  await fleet.report("b", "1.0.0");
  const { id } = (await fleet.start({ version: "2.0.0", waves: ["env=canary", "100%"], ...QUICK })).body as {
    id: string;
  };
  await fleet.publish("2.0.0");
  for (let host = 0; host < 50; host++) await fleet.report(`fake-${host}`, "2.0.0", CANARY);
  const failed = { ...CANARY, status: "failed", running_version: "1.0.0", error_message: "no" };
  for (let host = 50; host < 100; host++) await fleet.report(`fake-${host}`, "2.0.0", failed);
  const counted = await until(
    () => fleet.show(id),
    ({ new_hosts: fresh }) => fresh === 100,
  );
  const [first, last] = counted.waves;
  t.match(counted, { state: "running", open: 1, waiting_for: "hosts", failing: [], new_hosts: 100 });
  t.match(
    [first, last],
    [
      { hosts: 1, done: 0, failing: 0 },
      { hosts: 1, done: 0, failing: 0 },
    ],
  );
  const asCanary = { "x-sealift-labels": "env=canary" };
  t.equal(await fleet.told("fake-1", "1.0.0", asCanary), "1.0.0", "and are in the last wave, whatever they say");
  t.equal(await fleet.told("never-reported", "1.0.0", asCanary), "1.0.0");
  t.equal(await fleet.told("canary", "1.0.0"), "2.0.0");
});
