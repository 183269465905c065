// Holds: a report of a kit counts once, also where the log has forgotten it (lib/hub/features/kits/taken-records.ts)
/** A stick that is handed in again after the hub has tidied its log up. */
import t, { type Test } from "tap";
import type { MadeKit } from "../../../lib/contract/kits/records.ts";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { offlineHost, pluginReportOf, projectKit, reportOf, submitted } from "../../support/hub/kits.ts";
import { publishedArchive } from "../../support/hub/published.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const HOUR = 3_600_000;

async function keptHub(t: Test) {
  const clock = { now: Date.now() };
  const limits = { reportLimits: { reportsPerHost: 1 } };
  const hub = await startHub(t, { rateLimits: false, clock: () => clock.now, ...limits });
  /** Hands in a report an hour later. */
  const later = async (text: string) => {
    clock.now += HOUR;
    return (await submitted(hub, [text]))[0];
  };
  return { hub, clock, later };
}

const times = (ms: number) => ({ started_at: new Date(ms).toISOString(), completed_at: new Date(ms).toISOString() });

for (const [clockIs, ahead] of [
  ["right", 0],
  ["ahead by a year", 365 * 24 * HOUR],
] as const)
  t.test(`a report that the hub has tidied away is known all the same, by a clock that is ${clockIs}`, async (t) => {
    const { hub, clock, later } = await keptHub(t);
    const shop = await createProject(hub);
    await shop.publish(publication("1.0.0"));
    const pier = offlineHost("pier-7");
    const kit = await projectKit(hub, shop, "1.0.0", pier);
    const ran = (version: string, hours: number) =>
      reportOf(pier, kit.id, shop.id, {
        ...times(clock.now + ahead + hours * HOUR),
        version,
        running_version: version,
      });
    const [first, second, late] = [ran("1.0.0", -2), ran("1.1.0", -1), ran("0.9.0", -3)];
    t.match(await later(first), { state: "taken" });
    t.match(await later(second), { state: "taken" });
    await hub.hub.upkeep.run();
    t.match(await later(first), { state: "known", host_id: "pier-7" });
    t.match(await later(late), { state: "taken" }, "an older one that has never come is no known one");
    const { body } = await hub.call("GET", `/app/deploy/v1/projects/${shop.id}/hosts/pier-7`);
    t.match(body, { running_version: "1.1.0" });
  });

t.test("so is one of a plugin", async (t) => {
  const { hub, clock, later } = await keptHub(t);
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const pier = offlineHost("pier-7");
  const json = { version: "1.0.0", hosts: [pier.named], digest: "ab".repeat(32) };
  const key = Buffer.alloc(32, 7).toString("base64");
  const { id } = (await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json: { ...json, key } }))
    .body as unknown as MadeKit;
  const [first, second] = [2, 1].map((hours) => pluginReportOf(pier, id, "tides", times(clock.now - hours * HOUR)));
  t.match(await later(first!), { state: "taken" });
  t.match(await later(second!), { state: "taken" });
  await hub.hub.upkeep.run();
  const logged = await hub.call("GET", "/app/deployments/deployments/plugin/tides/reports");
  t.equal((logged.body["items"] as object[]).length, 1);
  t.match(await later(first!), { state: "known" });
});
