// Holds: a host keeps everything when it gets the name that it has (lib/hub/features/joining/host-records.ts)
import t from "tap";
import type { MadeKit } from "../../../../../lib/contract/kits/records.ts";
import { isErrorBody, startHub } from "../../../../support/hub/harness.ts";
import { asOffline, pluginReportOf, submitted } from "../../../../support/hub/kits.ts";
import { publishedArchive } from "../../../../support/hub/published.ts";
import { withSettings } from "../../../../support/hub/settings.ts";
import { temporaryFolder } from "../../../../support/temporary-folder.ts";

t.test("a host that gets its own name keeps card, settings and its place in every fleet", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const { id, at, host, sendCard, upload, shown, own } = await withSettings(hub);
  const pier = await host("pier-7");
  await sendCard(pier);
  t.equal((await upload([pier.document(1, null)])).status, 200);
  const offline = asOffline("pier-7", pier.key);
  const sealed = { digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64") };
  const json = { version: "1.0.0", hosts: [offline.named], hosts_project_id: id, ...sealed };
  const made = await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json });
  const kit = (made.body as unknown as MadeKit).id;
  t.match(await submitted(hub, [pluginReportOf(offline, kit, "tides")]), [{ state: "taken" }]);
  const fleet = () => hub.call("GET", "/app/deployments/deployments/plugin/tides/hosts/pier-7");
  const kept = async () => ({
    settings: await shown(),
    own: (await own(pier.api)).body,
    fleet: (await fleet()).body,
    log: (await hub.call("GET", "/devkeys/audit?action=host.rename")).body["items"],
  });
  const before = await kept();
  t.match(before, { settings: [{ host_id: "pier-7", number: 1 }], fleet: { host_id: "pier-7" }, log: [] });

  const rename = (from: string, to: string) =>
    hub.call("PATCH", `${at}/joined-hosts/${from}`, { json: { host_id: to } });
  t.equal((await rename("pier-7", "pier-7")).status, 204);
  t.strictSame(await kept(), before, "and nothing was renamed");
  isErrorBody(t, await rename("nobody", "nobody"), 404, "not_found");
});
