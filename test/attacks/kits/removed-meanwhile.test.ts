// Holds: what a report by a kit rests on (lib/hub/features/kits/take-report.ts, lib/hub/records/reports.ts)
/** A stolen host's reports are handed in while an operator removes it, and none puts it back into the fleet. */
import t, { type Test } from "tap";
import type { MadeKit } from "../../../lib/contract/kits/records.ts";
import { createProject, publication, type RunningHub, startHub } from "../../support/hub/harness.ts";
import { offlineHost, pluginReportOf, projectKit, reportOf, submitted } from "../../support/hub/kits.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { publishedArchive } from "../../support/hub/published.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Rounds of a removal beside reports, each at another distance. */
const ROUNDS = 24;

async function raced(t: Test, hub: RunningHub): Promise<void> {
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const shop = await createProject(hub);
  await shop.publish(publication("1.0.0"));
  const at = `/devkeys/projects/${shop.id}/joined-hosts`;
  const sealed = { digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64") };
  const refused: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const pier = offlineHost(`pier-${round}`);
    const kit = await projectKit(hub, shop, "1.0.0", pier);
    const json = { version: "1.0.0", hosts: [pier.named], hosts_project_id: shop.id, ...sealed };
    const made = await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json });
    const ofPlugin = made.body as unknown as MadeKit;
    const isRenamed = round % 4 === 3;
    const change = async () => {
      for (let turn = 0; turn < round; turn++) await new Promise(setImmediate);
      return isRenamed
        ? hub.call("PATCH", `${at}/${pier.name}`, { json: { host_id: `quay-${round}` } })
        : hub.call("DELETE", `${at}/${pier.name}`);
    };
    const reporting = Array.from({ length: 4 }, async (_, index) => {
      for (let turn = 0; turn < 8 * index; turn++) await new Promise(setImmediate);
      const reports = [reportOf(pier, kit.id, shop.id), pluginReportOf(pier, ofPlugin.id, "tides")];
      return submitted(hub, index % 2 === 0 ? reports : reports.toReversed());
    });
    const [changed, ...taken] = await Promise.all([change(), ...reporting]);
    t.equal(changed.status, 204);
    for (const { state, code } of taken.flat())
      if (state === "refused") {
        refused.push(code!);
        t.equal(code, "host_removed", "nothing else is said of it");
      }
    const inFleet = await hub.call("GET", `/app/deploy/v1/projects/${shop.id}/hosts/${pier.name}`);
    t.equal(inFleet.status, 404, `round ${round}: not in the project's fleet under that name`);
    const shown = await hub.call("GET", `/app/deployments/deployments/plugin/tides/hosts/${pier.name}`);
    t.equal(shown.status, 404, `round ${round}: nor in the plugin's`);
  }
  t.comment(`${refused.length} reports came after the removal`);
}

t.test("a removal beside reports leaves no host in the fleet, on SQLite", async (t) =>
  raced(t, await startHub(t, { rateLimits: false })),
);

t.test("a removal beside reports leaves no host in the fleet, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await raced(t, await startHub(t, { databaseUrl, rateLimits: false }));
});
