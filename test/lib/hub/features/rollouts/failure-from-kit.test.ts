// Holds: when a failure that a kit brings back was seen (lib/hub/features/rollouts/fleet.ts)
import t from "tap";
import { startHub } from "../../../../support/hub/harness.ts";
import { offlineHost, projectKit, reportOf, submitted } from "../../../../support/hub/kits.ts";
import { operatedFleet, until } from "../../../../support/hub/project-fleet.ts";

t.test("a failure that comes back after somebody has resumed the rollout halts it, whenever it was made", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const { project, publish, start, show, act } = await operatedFleet(hub);
  await publish("1.0.0");
  await publish("2.0.0");
  const [pier, buoy] = [offlineHost("pier-7"), offlineHost("buoy-2")];
  const kit = await projectKit(hub, project, "2.0.0", pier, buoy);
  const ran = [pier, buoy].map((host) => reportOf(host, kit.id, project.id));
  t.match(await submitted(hub, ran), [{ state: "taken" }, { state: "taken" }]);
  const failed = { status: "failed", error_message: "it died", version: "2.0.0" };
  const texts = [pier, buoy].map((host) => reportOf(host, kit.id, project.id, failed));

  const terms = { soak_seconds: 3600, max_failing: "0", min_done: "50%" };
  const { id } = (await start({ version: "2.0.0", waves: ["100%"], ...terms })).body as { id: string };
  const halted = () =>
    until(
      () => show(id),
      ({ state }) => state === "halted",
    );
  t.match(await submitted(hub, texts.slice(0, 1)), [{ state: "taken" }]);
  t.match(await halted(), { state: "halted", failing: [{ host_id: "pier-7" }] }, "made before the start");
  t.ok((await act(id, "resume")).status < 300);
  t.match(await show(id), { state: "running", failing: [] }, "a person has seen this one");
  t.match(await submitted(hub, texts.slice(1)), [{ state: "taken" }]);
  t.match(await halted(), { state: "halted", failing: [{ host_id: "buoy-2" }] }, "and nobody that one");
});
