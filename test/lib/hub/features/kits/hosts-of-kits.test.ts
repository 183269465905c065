// Holds: what becomes of a host in its project becomes of it in all kits for it (lib/hub/features/kits/host-records.ts)
import t, { type Test } from "tap";
import type { KitRecord, MadeKit } from "../../../../../lib/contract/kits/records.ts";
import { createProject, isErrorBody, publication, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { asOffline, offlineHost, pluginReportOf, reportOf, submitted } from "../../../../support/hub/kits.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { publishedArchive } from "../../../../support/hub/published.ts";
import { withSettings } from "../../../../support/hub/settings.ts";
import { temporaryFolder } from "../../../../support/temporary-folder.ts";

/** A plugin, two projects of one owner, and kits of the plugin for hosts of each. */
async function made(t: Test, hub: RunningHub) {
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const plugin = (await hub.call("GET", "/app/marketplace/plugins/tides")).body["id"] as string;
  const [shop, quay] = [await createProject(hub), await createProject(hub)];
  await shop.publish(publication("1.0.0"));
  const body = (hosts: object[], more: object) => ({
    ...{ version: "1.0.0", hosts, digest: "ab".repeat(32), key: Buffer.alloc(32, 7).toString("base64"), ...more },
  });
  const make = (hosts: object[], more: object = {}, key = hub.adminKey) =>
    hub.call("POST", "/app/marketplace/plugins/tides/kits", { key, json: body(hosts, more) });
  return {
    ...{ plugin, shop, quay, make },
    /** Makes a kit. @param project of the hosts */
    kitFor: async (host: ReturnType<typeof offlineHost>, project?: string): Promise<MadeKit> =>
      (await make([host.named], { hosts_project_id: project })).body as MadeKit,
    list: async (id: string, query = "", key = hub.adminKey): Promise<KitRecord[]> =>
      (await hub.call("GET", `/devkeys/projects/${id}/kits${query}`, { key })).body["items"] as KitRecord[],
    remove: (id: string, host: string) => hub.call("DELETE", `/devkeys/projects/${id}/joined-hosts/${host}`),
    shown: (host: string) => hub.call("GET", `/app/deployments/deployments/plugin/tides/hosts/${host}`),
  };
}

async function removed(t: Test, hub: RunningHub): Promise<void> {
  const { plugin, shop, quay, make, kitFor, list, remove, shown } = await made(t, hub);
  const [pier, other, loose] = [offlineHost("pier-7"), offlineHost("pier-7"), offlineHost("pier-7")];
  const buoy = offlineHost("buoy-2");
  const kit = await kitFor(pier, shop.id);
  const foreign = await kitFor(other, quay.id);
  const unbound = await kitFor(loose);
  const json = { version: "1.0.0", hosts: [pier.named], deployment_credential: shop.credential };
  const own = (await hub.call("POST", `/devkeys/projects/${shop.id}/kits`, { key: shop.key, json }))
    .body as unknown as MadeKit;
  const facts = (await hub.call("GET", "/devkeys/audit?action=kit.make&subject=plugin/tides")).body as {
    items: object[];
  };
  t.match(facts.items.at(-1), { facts: { kit: kit.id, hosts_project_id: shop.id } });

  t.match(await list(shop.id, "?host_id=pier-7&live=true", shop.key), [
    { id: own.id, target: `project:${shop.id}`, hosts_project_id: null },
    { id: kit.id, target: "plugin:tides", hosts_project_id: shop.id },
  ]);
  t.strictSame(new Set((await list(plugin)).map(({ id }) => id)), new Set([kit.id, foreign.id, unbound.id]));
  t.match(await submitted(hub, [pluginReportOf(pier, kit.id, "tides")], shop.key), [{ state: "taken" }]);
  t.match((await shown("pier-7")).body, { by_kit: { kit: kit.id } });

  t.equal((await remove(shop.id, "pier-7")).status, 204);
  for (const [host, id, code] of [
    [pier, kit.id, "host_removed"],
    [other, foreign.id, null],
    [loose, unbound.id, null],
  ] as const)
    t.match(await submitted(hub, [pluginReportOf(host, id, "tides", { version: id.slice(-6) })]), [{ code }]);
  t.match(await submitted(hub, [reportOf(pier, own.id, shop.id)]), [{ code: "host_removed" }]);
  t.match(await list(shop.id), [{ hosts: [{ removed_at: /^20/ }] }, { hosts: [{ removed_at: /^20/ }] }]);
  t.match(await list(quay.id), [{ id: foreign.id, hosts: [{ host_id: "pier-7", removed_at: null }] }]);

  const only = await kitFor(buoy, shop.id);
  isErrorBody(t, await remove(quay.id, "buoy-2"), 404, "not_found");
  t.match(await submitted(hub, [pluginReportOf(buoy, only.id, "tides")]), [{ state: "taken" }]);
  t.equal((await remove(shop.id, "buoy-2")).status, 204, "a host that only a plugin's kit knows");
  t.equal((await shown("buoy-2")).status, 404, "it leaves the fleet of the plugin, too");

  const [crane, namesake] = [offlineHost("crane-3"), offlineHost("crane-3")];
  await kitFor(crane, shop.id);
  const theirs = await kitFor(namesake, quay.id);
  t.match(await submitted(hub, [pluginReportOf(namesake, theirs.id, "tides")]), [{ state: "taken" }]);
  t.equal((await remove(shop.id, "crane-3")).status, 204);
  t.match((await shown("crane-3")).body, { by_kit: { kit: theirs.id } }, "that of another project stays");

  isErrorBody(t, await make([pier.named], { hosts_project_id: shop.id }, quay.key), 404, "not_found");
  isErrorBody(t, await make([pier.named], { hosts_project_id: plugin }), 422, "unprocessable");
  const at = (id: string) => `/devkeys/projects/${id}/kits/${kit.id}`;
  isErrorBody(t, await hub.call("DELETE", at(quay.id)), 404, "not_found");
  isErrorBody(t, await hub.call("DELETE", at(quay.id), { key: quay.key }), 404, "not_found");
  t.equal((await hub.call("DELETE", at(shop.id), { key: shop.key })).status, 204, "whoever acts for its hosts ends it");
  t.match(await list(plugin, "?live=true"), [
    { id: theirs.id },
    {},
    { id: only.id },
    { id: unbound.id },
    { id: foreign.id },
  ]);
}

async function renamed(t: Test, hub: RunningHub): Promise<void> {
  const { list, kitFor, shown } = await made(t, hub);
  const { id, host, sendCard, at } = await withSettings(hub);
  const joined = [await host("pier-7"), await host("buoy-1")] as const;
  for (const each of joined) await sendCard(each);
  const [pier, buoy] = [asOffline("pier-7", joined[0].key), asOffline("buoy-1", joined[1].key)];
  const namesake = offlineHost("buoy-2");
  const kit = await kitFor(pier, id);
  const second = await kitFor(buoy, id);
  const loose = await kitFor(namesake);
  const reports = [
    pluginReportOf(pier, kit.id, "tides"),
    pluginReportOf(buoy, second.id, "tides"),
    pluginReportOf(namesake, loose.id, "tides"),
  ];
  t.match(await submitted(hub, reports), [{ state: "taken" }, { state: "taken" }, { state: "taken" }]);
  const rename = (from: string, to: string) =>
    hub.call("PATCH", `${at}/joined-hosts/${from}`, { json: { host_id: to } });
  t.equal((await rename("pier-7", "pier-8")).status, 204);
  t.match(await list(id, "?host_id=pier-8"), [{ id: kit.id, hosts: [{ host_id: "pier-8" }] }]);
  t.equal((await shown("pier-7")).status, 404);
  t.match((await shown("pier-8")).body, { host_id: "pier-8", by_kit: { kit: kit.id } });
  const next = pluginReportOf(pier, kit.id, "tides", { running_version: "1.1.0" });
  t.match(await submitted(hub, [next]), [{ state: "taken", host_id: "pier-8" }]);
  t.equal((await rename("buoy-1", "buoy-2")).status, 204, "though the plugin's fleet has another one of the name");
  t.equal((await shown("buoy-1")).status, 404);
  t.match((await shown("buoy-2")).body, { by_kit: { kit: loose.id } });
}

async function passedOn(t: Test, hub: RunningHub): Promise<void> {
  const { plugin, shop, quay, kitFor, list } = await made(t, hub);
  const [pier, buoy, crane] = [offlineHost("pier-7"), offlineHost("buoy-2"), offlineHost("crane-3")];
  const kept = await kitFor(pier, shop.id);
  const ended = await kitFor(buoy, quay.id);
  const third = await createProject(hub);
  const gone = await kitFor(crane, third.id);
  const json = { name: "else", owner: "else", scopes: ["deploy", "read", "report"] };
  const other = (await hub.call("POST", "/devkeys/api-keys", { json })).body["key"] as string;
  const transfer = (id: string, keep: boolean) =>
    hub.call("POST", `/devkeys/projects/${id}/transfer`, { json: { owner: "else", keep_keys: keep } });
  t.equal((await transfer(shop.id, true)).status, 200);
  t.equal((await transfer(quay.id, false)).status, 200);
  const { name } = (await hub.call("GET", `/devkeys/projects/${third.id}`)).body as { name: string };
  const deleted = await hub.call("DELETE", `/devkeys/projects/${third.id}`, { json: { confirm: name } });
  t.ok(deleted.status < 300, deleted.bytes.toString());
  for (const { id } of [shop, quay])
    t.strictSame(await list(id, "", other), [], "it learns nothing of others' plugins");
  t.match(await list(plugin), [
    { id: gone.id, hosts_project_id: null, hosts: [{ removed_at: /^20/ }] },
    { id: ended.id, hosts_project_id: null, hosts: [{ removed_at: /^20/ }] },
    { id: kept.id, hosts_project_id: null, hosts: [{ removed_at: null }] },
  ]);
  t.match(
    await submitted(hub, [
      pluginReportOf(pier, kept.id, "tides"),
      pluginReportOf(buoy, ended.id, "tides"),
      pluginReportOf(crane, gone.id, "tides"),
    ]),
    [{ state: "taken" }, { code: "host_removed" }, { code: "host_removed" }],
  );
  t.match(await submitted(hub, [pluginReportOf(pier, kept.id, "tides")], other), [{ code: "kit_unknown" }]);
}

async function withKeysOfTheirOwn(t: Test, hub: RunningHub): Promise<void> {
  const { kitFor, shown } = await made(t, hub);
  const { id, host, sendCard } = await withSettings(hub);
  const joined = await host("pier-7");
  const times = { started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:00Z" };
  const json = { kind: "plugin", slug: "tides", version: "0.9.0", status: "success", host_id: "pier-7", ...times };
  const online = await hub.call("POST", "/app/deployments/deployments/report", { key: joined.api, json });
  t.ok(online.status < 300, online.bytes.toString());
  const pier = asOffline("pier-7", joined.key);
  const [bound, loose, forged] = [await kitFor(pier, id), await kitFor(pier), offlineHost("pier-7")];
  const thief = await kitFor(forged, id);
  const [own, other] = [pluginReportOf(pier, bound.id, "tides"), pluginReportOf(forged, thief.id, "tides")];
  t.match(await submitted(hub, [own, other]), [{ code: "other_host" }, { code: "other_host" }], "without its card");
  await sendCard(joined);
  t.match(await submitted(hub, [other]), [{ code: "other_host" }]);
  t.match(await submitted(hub, [pluginReportOf(pier, loose.id, "tides")]), [{ code: "other_host" }], "of no project");
  t.match(await submitted(hub, [own]), [{ state: "taken", host_id: "pier-7" }]);
  t.match((await shown("pier-7")).body, { by_kit: { kit: bound.id } });
}

async function withRemovedKeys(t: Test, hub: RunningHub): Promise<void> {
  const { shop, quay, make, remove } = await made(t, hub);
  const { id, host, sendCard, at } = await withSettings(hub);
  const forProject = (hosts: object[], of = shop) =>
    hub.call("POST", `/devkeys/projects/${of.id}/kits`, {
      key: of.key,
      json: { version: "1.0.0", hosts, deployment_credential: of.credential },
    });
  const [pier, anew] = [offlineHost("pier-7"), offlineHost("pier-7")];
  t.equal((await forProject([pier.named])).status, 201);
  t.equal((await remove(shop.id, "pier-7")).status, 204);
  const refused = await forProject([pier.named]);
  isErrorBody(t, refused, 409, "host_key_removed");
  t.match(refused.bytes.toString(), /pier-7/);
  isErrorBody(t, await forProject([{ ...pier.named, host_id: "pier-8" }]), 409, "host_key_removed");
  isErrorBody(t, await make([pier.named], { hosts_project_id: shop.id }), 409, "host_key_removed");
  t.equal((await make([pier.named], { hosts_project_id: quay.id })).status, 201, "another project's list is its own");
  t.equal((await make([pier.named])).status, 201, "a kit for hosts of no project asks no list");
  t.equal((await forProject([anew.named])).status, 201, "a new key under the old name");
  t.match(await hub.call("GET", `/devkeys/projects/${shop.id}/kits?host_id=pier-7`), { status: 200 });

  const joined = await host("buoy-2");
  await sendCard(joined);
  t.equal((await hub.call("DELETE", `${at}/joined-hosts/buoy-2`)).status, 204);
  const { x25519, ed25519 } = joined.key;
  const known = { host_id: "buoy-2", x25519, ed25519 };
  isErrorBody(t, await make([known], { hosts_project_id: id }), 409, "host_key_removed");
  const rejoined = await host("buoy-2");
  await sendCard(rejoined);
  const keys = { x25519: rejoined.key.x25519, ed25519: rejoined.key.ed25519 };
  t.equal((await make([{ host_id: "buoy-2", ...keys }], { hosts_project_id: id })).status, 201, "joined anew");
}

async function withTakenNames(t: Test, hub: RunningHub): Promise<void> {
  const { shop, make, kitFor, remove } = await made(t, hub);
  const { id, host, at } = await withSettings(hub);
  await host("pier-1");
  await kitFor(offlineHost("buoy-2"), id);
  const rename = (from: string, to: string) =>
    hub.call("PATCH", `${at}/joined-hosts/${from}`, { json: { host_id: to } });
  for (const name of ["buoy-2", "Buoy-2"]) isErrorBody(t, await rename("pier-1", name), 409, "host_taken");
  for (const name of ["Pier-1", "BUOY-2"])
    isErrorBody(t, await make([offlineHost(name).named], { hosts_project_id: id }), 409, "host_taken");
  const both = [offlineHost("quay-3").named, offlineHost("Quay-3").named];
  isErrorBody(t, await make(both, { hosts_project_id: id }), 422, "unprocessable");
  t.equal((await make([offlineHost("buoy-2").named], { hosts_project_id: id })).status, 201, "its own name");
  t.equal((await make([offlineHost("Buoy-2").named])).status, 201, "a kit for hosts of no project");
  await t.rejects(host("Buoy-2"), "nor does a host join under it");
  t.equal((await remove(id, "buoy-2")).status, 204);
  t.equal((await rename("pier-1", "buoy-2")).status, 204, "a host that was removed has no name");
  t.ok(shop);
}

async function neverOnline(t: Test, hub: RunningHub): Promise<void> {
  const { shop, kitFor, shown } = await made(t, hub);
  const pier = offlineHost("pier-7");
  const json = { version: "1.0.0", hosts: [pier.named], deployment_credential: shop.credential };
  const { id: own } = (await hub.call("POST", `/devkeys/projects/${shop.id}/kits`, { key: shop.key, json }))
    .body as unknown as MadeKit;
  const kit = await kitFor(pier, shop.id);
  const reports = [reportOf(pier, own, shop.id), pluginReportOf(pier, kit.id, "tides")];
  t.match(await submitted(hub, reports), [{ state: "taken" }, { state: "taken" }]);
  const rename = (from: string, to: string) =>
    hub.call("PATCH", `/devkeys/projects/${shop.id}/joined-hosts/${from}`, { json: { host_id: to } });
  isErrorBody(t, await rename("nobody", "x"), 404, "not_found");
  t.equal((await rename("pier-7", "pier-8")).status, 204);
  const inFleet = (name: string) => hub.call("GET", `/app/deploy/v1/projects/${shop.id}/hosts/${name}`);
  t.match(await inFleet("pier-7"), { status: 404 });
  t.match((await inFleet("pier-8")).body, { host_id: "pier-8", by_kit: { kit: own } });
  t.match((await shown("pier-8")).body, { host_id: "pier-8", by_kit: { kit: kit.id } });
  t.match(
    await submitted(hub, [...reports, reportOf(pier, own, shop.id)]),
    [
      { state: "known", host_id: "pier-8" },
      { state: "known", host_id: "pier-8" },
      { state: "taken", host_id: "pier-8" },
    ],
    "no report counts again under the new name",
  );
}

const CASES = {
  "no two hosts of a project have one name, online and in kits": withTakenNames,
  "a host that was never online is renamed": neverOnline,
  "no kit is made for the key of a host that was removed": withRemovedKeys,
  "a host that is removed from its project reports by no kit of a plugin": removed,
  "a host that is renamed keeps its kits of plugins": renamed,
  "a host with a key of its own reports by the card that its project has": withKeysOfTheirOwn,
  "a project that goes to somebody else leaves kits of plugins with their maker": passedOn,
};

for (const [title, check] of Object.entries(CASES)) {
  t.test(`${title}, on SQLite`, async (t) => check(t, await startHub(t, { rateLimits: false })));
  t.test(`${title}, on PostgreSQL`, async (t) => {
    const databaseUrl = await startPostgres(t);
    if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
    await check(t, await startHub(t, { databaseUrl, rateLimits: false }));
  });
}
