// Holds: which hosts of kits a rollout counts (lib/hub/features/rollouts/tally.ts, lib/hub/records/reports.ts)
/** A key that may make kits invents hosts, to carry a rollout past its canary or to halt it. */
import t from "tap";
import { newSigner, publication, startHub } from "../../support/hub/harness.ts";
import { asOffline, offlineHost, projectKit, reportOf, submitted } from "../../support/hub/kits.ts";
import { fleetOf, operatedFleet, until } from "../../support/hub/project-fleet.ts";
import { QUICK } from "../../support/hub/rollouts.ts";
import { withSettings } from "../../support/hub/settings.ts";

const CANARY = { labels: { env: "canary" } };
const FAILED = { status: "failed", error_message: "no", running_version: "1.0.0" };

t.test("a host that a kit invents after the start carries no rollout on, and halts none", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  await fleet.report("canary", "1.0.0", CANARY);
  const pier = offlineHost("pier-7");
  const before = await projectKit(hub, fleet.project, "1.0.0", pier);
  t.match(await submitted(hub, [reportOf(pier, before.id, fleet.project.id)]), [{ state: "taken" }]);
  await fleet.publish("2.0.0");
  const { id } = (await fleet.start({ version: "2.0.0", waves: ["env=canary", "100%"], ...QUICK })).body as {
    id: string;
  };
  const ghosts = [offlineHost("ghost-1"), offlineHost("ghost-2")] as const;
  const kit = await projectKit(hub, fleet.project, "1.0.0", pier, ...ghosts);
  const more = [{ ...CANARY, running_version: "2.0.0" }, FAILED];
  const reports = ghosts.map((host, at) => reportOf(host, kit.id, fleet.project.id, { version: "2.0.0", ...more[at] }));
  t.match(await submitted(hub, reports), [{ state: "taken" }, { state: "taken" }]);
  const counted = await until(
    () => fleet.show(id),
    ({ new_hosts: fresh }) => fresh === 2,
  );
  t.match(counted, { state: "running", open: 1, waiting_for: "hosts", failing: [], new_hosts: 2 });
  t.match(counted.waves, [{ hosts: 1, done: 0 }, { hosts: 0 }]);

  const known = reportOf(pier, kit.id, fleet.project.id, { version: "2.0.0", ...FAILED });
  t.match(await submitted(hub, [known]), [{ state: "taken" }]);
  const halted = await until(
    () => fleet.show(id),
    ({ state }) => state === "halted",
  );
  t.match(halted, { state: "halted", failing: [{ host_id: "pier-7" }] }, "one from before the start counts");
});

t.test("with bound_hosts no host counts by a kit but one whose card the hub has", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const { project, host, sendCard } = await withSettings(hub);
  const { start, show } = await fleetOf(hub, project);
  const signer = newSigner();
  const joined = await host("buoy-2");
  await sendCard(joined);
  for (const version of ["1.0.0", "2.0.0"]) await project.publish(publication(version, { signer }));
  const [early, late] = [offlineHost("pier-7"), offlineHost("ghost-1")];
  const own = asOffline("buoy-2", joined.key);
  const kit = await projectKit(hub, project, "2.0.0", early, late, own);
  t.match(await submitted(hub, [reportOf(early, kit.id, project.id)]), [{ state: "taken" }]);
  const { id } = (await start({ version: "2.0.0", waves: ["100%"], ...QUICK, bound_hosts: true })).body as {
    id: string;
  };
  const failed = [early, late].map((each) => reportOf(each, kit.id, project.id, { version: "2.0.0", ...FAILED }));
  t.match(await submitted(hub, failed), [{ state: "taken" }, { state: "taken" }]);
  const counted = await until(
    () => show(id),
    ({ new_hosts: fresh }) => fresh === 2,
  );
  t.match(counted, { state: "running", failing: [], new_hosts: 2, waves: [{ hosts: 0 }] });
  t.match(await submitted(hub, [reportOf(own, kit.id, project.id, { version: "2.0.0", ...FAILED })]), [
    { state: "taken" },
  ]);
  const halted = await until(
    () => show(id),
    ({ state }) => state === "halted",
  );
  t.match(halted, { state: "halted", failing: [{ host_id: "buoy-2" }] }, "the key of its card speaks for it alone");
});
