// Holds: whose key reports a host with a key of its own by a kit (lib/hub/records/reports.ts)
/** A key that may make kits names a joined host with another key, before the host has reported into that fleet. */
import t from "tap";
import type { MadeKit } from "../../../lib/contract/kits/records.ts";
import { createProject, isErrorBody, startHub } from "../../support/hub/harness.ts";
import { asOffline, offlineHost, pluginReportOf, submitted } from "../../support/hub/kits.ts";
import { publishedArchive } from "../../support/hub/published.ts";
import { withSettings } from "../../support/hub/settings.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("a joined host that has not reported a plugin yet is reported by no key but its card's", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const { id, host, sendCard, at } = await withSettings(hub);
  const other = await createProject(hub);
  const joined = await host("pier-7");
  const forged = offlineHost("pier-7");
  const make = ({ named }: typeof forged, project?: string) =>
    hub.call("POST", "/app/marketplace/plugins/tides/kits", {
      json: {
        ...{ version: "1.0.0", hosts: [named], digest: "ab".repeat(32), hosts_project_id: project },
        key: Buffer.alloc(32, 7).toString("base64"),
      },
    });
  const refused = async (project: string | undefined, why: string) => {
    const kit = (await make(forged, project)).body as unknown as MadeKit;
    t.match(await submitted(hub, [pluginReportOf(forged, kit.id, "tides")]), [{ code: "other_host" }], why);
    return kit;
  };
  const before = await refused(id, "the hub has no card of it");
  await refused(other.id, "nor do hosts of another project of its owner take its place in the fleet");
  await refused(undefined, "nor hosts of no project");

  await sendCard(joined);
  const denied = await make(forged, id);
  isErrorBody(t, denied, 409, "host_taken");
  t.match(denied.bytes.toString(), /pier-7/);
  t.match(await submitted(hub, [pluginReportOf(forged, before.id, "tides")]), [{ code: "other_host" }]);
  const own = asOffline("pier-7", joined.key);
  const kit = (await make(own, id)).body as unknown as MadeKit;
  t.match(await submitted(hub, [pluginReportOf(own, kit.id, "tides")]), [{ state: "taken" }], "its own key does");

  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
  t.equal((await make(offlineHost("pier-7"), id)).status, 201, "a host that was removed has no name");
});
