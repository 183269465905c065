// Holds: a machine that was removed is not its successor of the same name (lib/hub/features/kits/host-records.ts)
/** A stolen machine, and the one that was set up in its place under the same name. */
import t from "tap";
import type { KitRecord, MadeKit } from "../../../lib/contract/kits/records.ts";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { offlineHost, pluginReportOf, projectKit, reportOf, submitted } from "../../support/hub/kits.ts";
import { publishedArchive } from "../../support/hub/published.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("what happens to a host leaves a removed one of its name as it was", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { rateLimits: false, clock: () => now });
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const shop = await createProject(hub);
  await shop.publish(publication("1.0.0"));
  const at = `/devkeys/projects/${shop.id}`;
  const remove = (host: string) => hub.call("DELETE", `${at}/joined-hosts/${host}`);
  const list = async (query = "") => (await hub.call("GET", `${at}/kits${query}`)).body["items"] as KitRecord[];
  const ofPlugin = async ({ named }: ReturnType<typeof offlineHost>) => {
    const sealed = { digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64") };
    const json = { version: "1.0.0", hosts: [named], hosts_project_id: shop.id, ...sealed };
    return (await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json })).body as unknown as MadeKit;
  };
  const [stolen, anew] = [offlineHost("pier-7"), offlineHost("pier-7")];
  const olds = [await projectKit(hub, shop, "1.0.0", stolen), await ofPlugin(stolen)].map(({ id }) => id);
  const ofStolen = async () =>
    (await list()).filter(({ id }) => olds.includes(id)).map(({ id, hosts }) => ({ id, hosts }));
  t.equal((await remove("pier-7")).status, 204);
  const before = await ofStolen();
  t.match(before[0]?.hosts, [{ host_id: "pier-7", removed_at: new Date(now).toISOString() }]);

  now += 3_600_000;
  const { id } = await projectKit(hub, shop, "1.0.0", anew);
  const second = await ofPlugin(anew);
  const reports = [reportOf(anew, id, shop.id), pluginReportOf(anew, second.id, "tides")];
  t.match(await submitted(hub, reports), [{ state: "taken" }, { state: "taken" }]);

  const renaming = await hub.call("PATCH", `${at}/joined-hosts/pier-7`, { json: { host_id: "pier-9" } });
  t.equal(renaming.status, 204);
  t.strictSame(await ofStolen(), before, "its name stays");
  t.match(await submitted(hub, [reportOf(anew, id, shop.id, { version: "1.1.0" })]), [{ host_id: "pier-9" }]);
  t.match(await hub.call("GET", "/app/deployments/deployments/plugin/tides/hosts/pier-9"), { status: 200 });
  now += 3_600_000;
  t.equal((await remove("pier-9")).status, 204);
  t.strictSame(await ofStolen(), before, "and so does the time when it was removed");
  t.match(await submitted(hub, [reportOf(anew, id, shop.id)]), [{ code: "host_removed" }]);
});
