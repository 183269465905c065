// Holds: which of two reports that kits brought is the newer one (lib/hub/records/reports.ts)
/** A host whose clock is ahead, and whose sticks come back in the wrong order. */
import t from "tap";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { offlineHost, projectKit, reportOf, submitted } from "../../support/hub/kits.ts";

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;

for (const [title, sticks] of [
  ["two sticks", 2],
  ["one stick, handed in twice", 1],
] as const)
  t.test(`the later of two deployments is shown, also where it comes back first: ${title}`, async (t) => {
    let now = Date.now();
    const hub = await startHub(t, { rateLimits: false, clock: () => now });
    const shop = await createProject(hub);
    await shop.publish(publication("1.0.0"));
    const pier = offlineHost("pier-7");
    const first = await projectKit(hub, shop, "1.0.0", pier);
    now += HOUR;
    const second = sticks === 1 ? first : await projectKit(hub, shop, "1.0.0", pier);
    const ran = (kit: { id: string }, version: string, hours: number) => {
      const at = new Date(now + YEAR + hours * HOUR).toISOString();
      return reportOf(pier, kit.id, shop.id, {
        ...{ version, running_version: version, started_at: at, completed_at: at },
      });
    };
    const [older, newer] = [ran(first, "1.0.0", 1), ran(second, "1.1.0", 2)];
    for (const report of [newer, older]) {
      now += HOUR;
      t.match(await submitted(hub, [report]), [{ state: "taken" }]);
    }
    const shown = () => hub.call("GET", `/app/deploy/v1/projects/${shop.id}/hosts/pier-7`);
    t.match((await shown()).body, { running_version: "1.1.0" }, "whatever the hub heard of last");
    now += HOUR;
    t.match(await submitted(hub, [ran(second, "1.2.0", 3)]), [{ state: "taken" }]);
    t.match((await shown()).body, { running_version: "1.2.0" });
  });

t.test("a clock that was set right between two kits hides no deployment", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { rateLimits: false, clock: () => now });
  const shop = await createProject(hub);
  await shop.publish(publication("1.0.0"));
  const pier = offlineHost("pier-7");
  const at = (ms: number) => ({ started_at: new Date(ms).toISOString(), completed_at: new Date(ms).toISOString() });
  const first = await projectKit(hub, shop, "1.0.0", pier);
  const ahead = reportOf(pier, first.id, shop.id, at(now + YEAR));
  now += HOUR;
  const second = await projectKit(hub, shop, "1.0.0", pier);
  const right = { ...at(now), version: "1.1.0", running_version: "1.1.0" };
  now += HOUR;
  t.match(await submitted(hub, [ahead]), [{ state: "taken" }]);
  t.match(await submitted(hub, [reportOf(pier, second.id, shop.id, right)]), [{ state: "taken" }]);
  const { body } = await hub.call("GET", `/app/deploy/v1/projects/${shop.id}/hosts/pier-7`);
  t.match(body, { running_version: "1.1.0" });
});
