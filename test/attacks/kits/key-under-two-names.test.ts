/** A stolen host whose key has two names: whoever removes it names one of them. */
import t from "tap";
import type { MadeKit } from "../../../lib/contract/kits/records.ts";
import { createProject, isErrorBody, publication, startHub } from "../../support/hub/harness.ts";
import { type OfflineHost, offlineHost, pluginReportOf, reportOf, submitted } from "../../support/hub/kits.ts";
import { publishedArchive } from "../../support/hub/published.ts";
import { withSettings } from "../../support/hub/settings.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("a key has one name in its project, and is removed by it", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const shop = await createProject(hub);
  await shop.publish(publication("1.0.0"));
  const ask = (host: OfflineHost) => {
    const json = { version: "1.0.0", hosts: [host.named], deployment_credential: shop.credential };
    return hub.call("POST", `/devkeys/projects/${shop.id}/kits`, { key: shop.key, json });
  };
  const askPlugin = (host: OfflineHost, more: object) => {
    const sealed = { digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64") };
    const json = { version: "1.0.0", hosts: [host.named], ...sealed, ...more };
    return hub.call("POST", "/app/marketplace/plugins/tides/kits", { json });
  };
  const at = `/devkeys/projects/${shop.id}/joined-hosts`;
  const typo = offlineHost("pier7");
  const pier = { ...typo, name: "pier-7", named: { ...typo.named, host_id: "pier-7" } };
  const first = (await ask(typo)).body as unknown as MadeKit;
  const other = await ask(pier);
  isErrorBody(t, other, 409, "host_key_taken");
  t.match(other.bytes.toString(), /pier7/, "it says which name the key has");
  isErrorBody(t, await askPlugin(pier, { hosts_project_id: shop.id }), 409, "host_key_taken");
  t.equal((await askPlugin(pier, {})).status, 201, "a kit for hosts of no project asks no list");
  t.equal((await hub.call("PATCH", `${at}/pier7`, { json: { host_id: "pier-7" } })).status, 204);
  t.equal((await ask(pier)).status, 201, "a new name is the way");
  isErrorBody(t, await ask(typo), 409, "host_key_taken");
  const bound = (await askPlugin(pier, { hosts_project_id: shop.id })).body as unknown as MadeKit;
  const early = reportOf(pier, first.id, shop.id);
  t.match(await submitted(hub, [early]), [{ state: "taken", host_id: "pier-7" }]);
  t.equal((await hub.call("DELETE", `${at}/pier-7`)).status, 204);
  const late = [reportOf(pier, first.id, shop.id), pluginReportOf(pier, bound.id, "tides")];
  t.match(await submitted(hub, late), [{ code: "host_removed" }, { code: "host_removed" }]);
  t.match(await submitted(hub, [early]), [{ state: "known" }], "what was taken before is no refusal for ever");
});

t.test("a key that was removed reports under no name", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const { id, host, sendCard, at } = await withSettings(hub);
  const joined = await host("pier-7");
  await sendCard(joined);
  const { x25519, ed25519 } = joined.key;
  const typo = { name: "pier7", key: joined.key, named: { host_id: "pier7", x25519, ed25519 } };
  const json = {
    ...{ version: "1.0.0", hosts: [typo.named], digest: "ab".repeat(32), hosts_project_id: id },
    key: Buffer.alloc(32, 7).toString("base64"),
  };
  const made = await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json });
  t.equal(made.status, 201, "no kit has the key yet");
  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
  const report = pluginReportOf(typo, (made.body as unknown as MadeKit).id, "tides");
  t.match(await submitted(hub, [report]), [{ code: "host_removed" }]);
});
