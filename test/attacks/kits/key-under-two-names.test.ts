/** A stolen host whose key has two names: whoever removes it names one of them. */
import t, { type Test } from "tap";
import type { MadeKit } from "../../../lib/contract/kits/records.ts";
import { createProject, isErrorBody, publication, type RunningHub, startHub } from "../../support/hub/harness.ts";
import {
  asOffline,
  type OfflineHost,
  offlineHost,
  pluginReportOf,
  reportOf,
  submitted,
} from "../../support/hub/kits.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
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

async function carded(t: Test, hub: RunningHub): Promise<void> {
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const { id, host, sendCard, at } = await withSettings(hub);
  const joined = await host("pier-7");
  await sendCard(joined);
  const ask = (...named: string[]) => {
    const hosts = [...named.map((name) => asOffline(name, joined.key)), offlineHost("buoy-2")];
    const sealed = { digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64"), hosts_project_id: id };
    const json = { version: "1.0.0", hosts: hosts.map((each) => each.named), ...sealed };
    return hub.call("POST", "/app/marketplace/plugins/tides/kits", { json });
  };
  const other = await ask("pier7");
  isErrorBody(t, other, 409, "host_key_taken");
  t.match(other.bytes.toString(), /the project's host pier-7/, "it says which name the key has");
  t.equal((await ask("pier-7")).status, 201);
  await hub.call("PATCH", `${at}/joined-hosts/pier-7`, { json: { host_id: "pier7" } });
  t.equal((await ask("pier7")).status, 201, "a new name is the way");
  isErrorBody(t, await ask("pier-7"), 409, "host_key_taken");
}

t.test("the key of a host that joined is under no other name in a kit, on SQLite", async (t) =>
  carded(t, await startHub(t, { rateLimits: false })),
);

t.test("the key of a host that joined is under no other name in a kit, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await carded(t, await startHub(t, { databaseUrl, rateLimits: false }));
});

t.test("a key that was removed reports under no name", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const { id, host, sendCard, at } = await withSettings(hub);
  const joined = await host("pier-7");
  const { x25519, ed25519 } = joined.key;
  const typo = { name: "pier7", key: joined.key, named: { host_id: "pier7", x25519, ed25519 } };
  const json = {
    ...{ version: "1.0.0", hosts: [typo.named], digest: "ab".repeat(32), hosts_project_id: id },
    key: Buffer.alloc(32, 7).toString("base64"),
  };
  const made = await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json });
  t.equal(made.status, 201, "neither a kit nor a card has the key yet");
  t.equal((await sendCard(joined)).status, 204);
  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
  const report = pluginReportOf(typo, (made.body as unknown as MadeKit).id, "tides");
  t.match(await submitted(hub, [report]), [{ code: "host_removed" }]);
});
