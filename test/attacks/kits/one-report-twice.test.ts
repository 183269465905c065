/** Two people hand in the same report at once, through one hub or two. */
import t from "tap";
import { signKitReport } from "../../../lib/artifact/sealed/kit.ts";
import type { MadeKit } from "../../../lib/contract/kits/records.ts";
import { offlineHost, submitted } from "../../support/hub/kits.ts";
import { publishedArchive } from "../../support/hub/published.ts";
import { RACED, startRacedHubs } from "../../support/hub/two-hubs.ts";
import { needs } from "../../support/programs/optional.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

for (const database of RACED)
  t.test(
    `a report counts once, whoever brings it and when (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [one, two] = (await startRacedHubs(t, database, { rateLimits: false }))!;
      await (await publishedArchive(one, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
      const ship = offlineHost("ship-1");
      const sealed = { digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64") };
      const json = { version: "1.0.0", hosts: [ship.named], ...sealed };
      const made = await two.call("POST", "/app/marketplace/plugins/tides/kits", { json });
      const { id } = made.body as unknown as MadeKit;
      const at = new Date().toISOString();
      const wire = {
        kind: "plugin",
        slug: "tides",
        version: "1.0.0",
        status: "success",
        started_at: at,
        completed_at: at,
      };
      const facts = { kit: id, target: "plugin:tides", host_id: "its-own-word", root: null };
      const report = signKitReport({ ...facts, report: JSON.stringify(wire) }, ship.key);
      const logged = async () =>
        (await one.call("GET", "/app/deployments/deployments/plugin/tides/reports")).body["items"] as object[];
      await Promise.all(
        [one, two, one, two].map(async (hub) =>
          t.match(await submitted(hub, [report]), [{ state: /^(taken|known)$/, host_id: "ship-1" }]),
        ),
      );
      t.match(await submitted(two, [report, report]), [{ state: "known" }, { state: "known" }]);
      t.match(await logged(), [{ host_id: "ship-1", by_kit: { kit: id } }]);
      t.equal((await logged()).length, 1);
      const plugin = (await one.call("GET", "/app/marketplace/plugins/tides")).body["id"] as string;
      const kits = `/devkeys/projects/${plugin}/kits`;
      const listed = async () => (await one.call("GET", `${kits}?host_id=ship-1&live=true`)).body["items"] as object[];
      t.match(await listed(), [{ id, hosts: [{ host_id: "ship-1" }] }]);
      t.equal((await two.call("DELETE", `${kits}/${id}`)).status, 204);
      t.equal((await two.call("DELETE", `${kits}/${id}`)).status, 204, "and again");
      t.strictSame(await listed(), []);
      t.equal((await two.call("DELETE", `/devkeys/projects/${plugin}?force=true`)).status, 200);
      t.match(await submitted(two, [report]), [{ code: "kit_unknown" }]);
    },
  );
