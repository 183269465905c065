// Holds: who may make a kit, and for whom the hub seals its key (lib/hub/features/kits/routes.ts)
// Holds: which reports of kits a hub takes, and as of when (lib/hub/features/kits/take-report.ts)
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { KitRecord, MadeKit } from "../../../../../lib/contract/kits/records.ts";
import type { HubOptions } from "../../../../../lib/hub/hub.ts";
import { bech32 } from "../../../../support/bech32.ts";
import { createProject, isErrorBody, publication, startHub } from "../../../../support/hub/harness.ts";
import { offlineHost, reportOf, submitted, termsFor } from "../../../../support/hub/kits.ts";
import { keyOf, withSettings } from "../../../../support/hub/settings.ts";
import { needs } from "../../../../support/programs/optional.ts";

/** A project with a version, two hosts that were never online, and a kit for one of them. */
async function made(t: Test, options: Partial<HubOptions> = {}) {
  const hub = await startHub(t, { rateLimits: false, ...options });
  const project = await createProject(hub);
  const version = publication("1.0.0");
  const published = await project.publish(version);
  const pier = offlineHost("pier-7");
  const at = `/devkeys/projects/${project.id}/kits`;
  const make = (more: object = {}, key = project.key) =>
    hub.call("POST", at, {
      key,
      json: { version: "1.0.0", hosts: [pier.named], deployment_credential: project.credential, ...more },
    });
  const list = async (query = ""): Promise<KitRecord[]> =>
    (await hub.call("GET", `${at}${query}`)).body["items"] as KitRecord[];
  return { t, hub, project, version, published, pier, at, make, list };
}

t.test("a hub seals the key of a version to each named host, and to nobody else", async (t) => {
  const { hub, project, version, published, pier, make, list } = await made(t);
  const buoy = offlineHost("buoy-2");
  const before = Date.now();
  const answer = await make({ hosts: [pier.named, buoy.named], lasts_s: 3600 });
  t.equal(answer.status, 201, JSON.stringify(answer.body));
  const kit = answer.body as unknown as MadeKit;
  t.strictSame(Object.keys(kit.hosts).toSorted(), [pier.key.fingerprint, buoy.key.fingerprint].toSorted());
  for (const host of [pier, buoy])
    t.match(termsFor(kit, host), {
      ...{ t: "sealift-kit-terms", v: 1, kit: kit.id, hub: hub.url, to: host.key.fingerprint },
      ...{ target: `project:${project.id}`, version: "1.0.0", digest: published.body["artifact_sha256"] },
      ...{ made_at: kit.made_at, ends_at: kit.ends_at, key: Buffer.from(version.dek).toString("base64") },
    });
  t.throws(() => termsFor({ hosts: { [buoy.key.fingerprint]: kit.hosts[pier.key.fingerprint]! } }, buoy), {
    code: "sealed_invalid",
  });
  t.ok(Date.parse(kit.made_at) >= before && Date.parse(kit.ends_at) - Date.parse(kit.made_at) === 3_600_000);
  t.notOk(
    answer.bytes.toString().includes(Buffer.from(version.dek).toString("base64")),
    "its maker never sees the key",
  );
  t.match(await list(), [{ id: kit.id, version: "1.0.0", made_by: project.keyId, ended_at: null }]);
  t.match(await list("?host_id=buoy-2"), [{ id: kit.id }]);
  t.strictSame(await list("?host_id=other"), []);
  const { items } = (await hub.call("GET", `/devkeys/audit?subject=${project.id}&action=kit.make`)).body as {
    items: object[];
  };
  t.match(items, [{ action: "kit.make", facts: { kit: kit.id, version: "1.0.0", hosts: 2 } }]);
});

t.test("Debian's age opens what the hub has sealed", { skip: needs("age") }, async (t) => {
  const { pier, make } = await made(t);
  const kit = (await make()).body as unknown as MadeKit;
  const identity = join(t.testdir(), "identity");
  writeFileSync(identity, `${bech32("age-secret-key-", pier.key.secret).toUpperCase()}\n`);
  const input = Buffer.from(kit.hosts[pier.key.fingerprint]!, "base64");
  const opened = spawnSync("age", ["--decrypt", "--identity", identity], { input, encoding: "utf8" });
  t.equal(opened.status, 0, opened.stderr);
  t.strictSame(JSON.parse(opened.stdout), termsFor(kit, pier));
});

t.test("a kit is refused as an authorization is", async (t) => {
  const { hub, project, make, at } = await made(t);
  isErrorBody(t, await make({ deployment_credential: "sdc_other" }), 403, "forbidden");
  isErrorBody(t, await make({ version: "9.9.9" }), 404, "not_found");
  isErrorBody(t, await make({ lasts_s: 1 }), 422, "unprocessable");
  isErrorBody(t, await make({ hosts: [] }), 422, "unprocessable");
  const weak = { host_id: "weak", x25519: "00".repeat(32), ed25519: "11".repeat(32) };
  isErrorBody(t, await make({ hosts: [weak] }), 422, "unprocessable");
  const pier = offlineHost("pier-7").named;
  isErrorBody(t, await make({ hosts: [pier, { ...pier, host_id: "b" }] }), 422, "unprocessable");
  isErrorBody(t, await make({}, await keyOf(hub, ["read", "report"], project.id)), 403, "forbidden");
  const other = await createProject(hub);
  isErrorBody(t, await make({}, other.key), 404, "not_found");
  isErrorBody(t, await make({ deployment_credential: other.credential }), 403, "forbidden");
  const { id, host } = await withSettings(hub);
  const joined = await host("pier-9");
  const json = { version: "1.0.0", hosts: [pier], deployment_credential: project.credential };
  isErrorBody(t, await hub.call("POST", `/devkeys/projects/${id}/kits`, { key: joined.api, json }), 403, "other_host");
  t.equal((await make()).status, 201);
  await hub.call("DELETE", `/devkeys/api-keys/${project.keyId}`);
  isErrorBody(t, await make(), 401, "key_rejected");
  isErrorBody(t, await make({}, hub.adminKey), 403, "forbidden");
  t.equal((await hub.call("GET", at)).body["items"].length, 1);
});

t.test("a kit of a plugin is for whoever may install it, and its reports go into that one's fleet", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const { id } = (
    await hub.call("POST", "/devkeys/projects", { json: { name: "Tides", kind: "plugin", slug: "tides" } })
  ).body;
  const pier = offlineHost("pier-7");
  const json = {
    version: "1.0.0",
    hosts: [pier.named],
    digest: "ab".repeat(32),
    key: Buffer.alloc(32, 7).toString("base64"),
  };
  isErrorBody(t, await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json }), 404, "not_found");
  isErrorBody(t, await hub.call("POST", "/app/marketplace/plugins/none/kits", { json }), 404, "not_found");
  isErrorBody(
    t,
    await hub.call("POST", "/app/marketplace/plugins/tides/kits", { json, key: null }),
    401,
    "key_missing",
  );
  t.strictSame((await hub.call("GET", `/devkeys/projects/${id}/kits`)).body, { items: [], next: null });
});

t.test("a report counts once, under the host's name in the kit, as of the time when it was made", async (t) => {
  const { hub, project, pier, make, list, at } = await made(t);
  const kit = (await make()).body as unknown as MadeKit;
  const sent = reportOf({ ...pier, name: "its-own-word" }, kit.id, project.id, {
    completed_at: "1970-01-01T00:00:00.000Z",
  });
  t.strictSame(await submitted(hub, [sent, sent], project.key), [
    { state: "taken", host_id: "pier-7", code: null, message: null },
    { state: "known", host_id: "pier-7", code: null, message: null },
  ]);
  t.match(await submitted(hub, [sent]), [{ state: "known" }], "whoever carries it twice");
  const shown = (await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts/pier-7`)).body;
  t.match(shown, {
    ...{ host_id: "pier-7", running_version: "1.0.0", created_at: kit.made_at, by_kit: { kit: kit.id } },
  });
  t.equal(shown["seen_at"], undefined);
  const future = reportOf(pier, kit.id, project.id, { completed_at: "2099-01-01T00:00:00.000Z", version: "2.0.0" });
  t.match(await submitted(hub, [future]), [{ state: "taken" }]);
  const now = (await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts/pier-7`)).body;
  t.ok(Date.parse(now["created_at"] as string) <= Date.now());
  const late = reportOf(pier, kit.id, project.id, { completed_at: kit.made_at, version: "0.9.0" });
  t.match(await submitted(hub, [late]), [{ state: "taken" }]);
  t.match((await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts/pier-7`)).body, { version: "2.0.0" });

  t.equal((await hub.call("DELETE", `${at}/${kit.id}`, { key: project.key })).status, 204);
  t.strictSame(await list("?live=true"), []);
  t.match(await list(), [{ id: kit.id, ended_at: /^20/ }]);
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)]), [{ state: "taken" }], "also after its end");
});

t.test("reports that no host of the kit has signed are refused, each with a code", async (t) => {
  const { hub, project, pier, make } = await made(t);
  const kit = (await make()).body as unknown as MadeKit;
  const other = offlineHost("pier-7");
  const mine = reportOf(pier, kit.id, project.id);
  const elsewhere = await createProject(hub);
  const cases: [string, string][] = [
    [reportOf(other, kit.id, project.id), "kit_report_invalid"],
    [
      reportOf({ ...other, key: { ...other.key, fingerprint: pier.key.fingerprint } }, kit.id, project.id),
      "kit_report_invalid",
    ],
    [mine.replace("success", "failed_"), "kit_report_invalid"],
    [mine.replace('\\"1.0.0\\"', '\\"6.6.6\\"'), "kit_report_invalid"],
    [mine.slice(0, -2), "kit_report_invalid"],
    ["{}", "kit_report_invalid"],
    [reportOf(pier, "kit_" + "0".repeat(32), project.id), "kit_unknown"],
    [reportOf(pier, kit.id, project.id, {}, { target: `project:${elsewhere.id}` }), "kit_report_invalid"],
    [reportOf(pier, kit.id, elsewhere.id), "kit_report_invalid"],
    [reportOf(pier, kit.id, project.id, { status: "odd" }), "kit_report_invalid"],
    [reportOf(pier, kit.id, project.id, {}, { report: "[[[" }), "kit_report_invalid"],
    [reportOf(pier, kit.id, project.id, { deployment_id: "" }), "kit_report_invalid"],
  ];
  const items = await submitted(
    hub,
    cases.map(([text]) => text),
  );
  for (const [index, [, code]] of cases.entries()) t.match(items[index], { state: "refused", code }, `case ${index}`);
  t.match(await submitted(hub, [mine], elsewhere.key), [{ code: "kit_unknown" }]);
  t.equal((await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts/pier-7`)).status, 404);
});

t.test("a host with a key of its own reports by the key of its card, and no more once it was removed", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const { id, host, project, at, sendCard } = await withSettings(hub);
  await project.publish(publication("1.0.0"));
  const pier = await host("pier-7");
  const named = { host_id: "pier-7", x25519: pier.key.x25519, ed25519: pier.key.ed25519 };
  const json = { version: "1.0.0", hosts: [named], deployment_credential: project.credential };
  const kit = (await hub.call("POST", `${at}/kits`, { key: project.key, json })).body as unknown as MadeKit;
  const offline = { name: "pier-7", key: pier.key, named };
  const wire = { project_id: id, deployment_id: "online", status: "success", version: "0.9.0", plugins: [] };
  const session = await hub.call("POST", "/app/deploy/v1/auth", {
    key: null,
    json: { xdevkey: pier.api, project_id: id },
  });
  const bearer = session.body["access_token"] as string;
  const times = { started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:00Z", host_id: "pier-7" };
  await hub.call("POST", "/app/deploy/v1/deployments/report", { bearer, json: { ...wire, ...times } });
  const thief = offlineHost("pier-7");
  const forged = { ...json, hosts: [thief.named] };
  const other = (await hub.call("POST", `${at}/kits`, { key: project.key, json: forged })).body as unknown as MadeKit;
  t.match(await submitted(hub, [reportOf(thief, other.id, id)]), [{ state: "refused", code: "other_host" }]);
  t.match(
    await submitted(hub, [reportOf(offline, kit.id, id)]),
    [{ code: "other_host" }],
    "before the hub has its card",
  );
  await sendCard(pier);
  t.match(await submitted(hub, [reportOf(thief, other.id, id)]), [{ code: "other_host" }]);
  t.match(await submitted(hub, [reportOf(offline, kit.id, id)]), [{ state: "taken", host_id: "pier-7" }]);
  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
  t.match((await hub.call("GET", `${at}/kits?host_id=pier-7&live=true`)).body, {
    items: [{ hosts: [{ removed_at: /^20/ }] }, { hosts: [{ removed_at: /^20/ }] }],
  });
  t.match(await submitted(hub, [reportOf(offline, kit.id, id)]), [{ state: "refused", code: "host_removed" }]);
});

t.test("a host that has never joined is removed, and reports no more", async (t) => {
  const { hub, project, pier, make, list } = await made(t);
  const kit = (await make()).body as unknown as MadeKit;
  const at = `/devkeys/projects/${project.id}/joined-hosts`;
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)]), [{ state: "taken" }]);
  isErrorBody(t, await hub.call("DELETE", `${at}/pier-8`), 404, "not_found");
  const elsewhere = await createProject(hub);
  isErrorBody(t, await hub.call("DELETE", `/devkeys/projects/${elsewhere.id}/joined-hosts/pier-7`), 404, "not_found");
  t.equal((await hub.call("DELETE", `${at}/pier-7`)).status, 204);
  t.equal((await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts/pier-7`)).status, 404);
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)]), [{ state: "refused", code: "host_removed" }]);
  t.match(await list(), [{ hosts: [{ host_id: "pier-7", removed_at: /^20/ }] }]);
  isErrorBody(t, await hub.call("DELETE", `${at}/pier-7`), 404, "not_found");
  const next = offlineHost("pier-7");
  const { id } = (await make({ hosts: [next.named] })).body as unknown as MadeKit;
  t.match(await submitted(hub, [reportOf(next, id, project.id)]), [{ state: "taken" }], "a new host with a new key");
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)]), [{ code: "host_removed" }]);
});

t.test("the former owner of a project neither lists its kits nor reports by them", async (t) => {
  const { hub, project, pier, make, at } = await made(t);
  const kit = (await make()).body as unknown as MadeKit;
  const scopes = ["deploy", "report", "read"];
  const keyFor = async (owner: string) =>
    (await hub.call("POST", "/devkeys/api-keys", { json: { name: owner, owner, scopes } })).body["key"] as string;
  const [former, next, last] = [await keyFor("administrator"), await keyFor("else"), await keyFor("third")];
  const json = { owner: "else", keep_keys: true };
  const transferred = await hub.call("POST", `/devkeys/projects/${project.id}/transfer`, { json });
  t.equal(transferred.status, 200, transferred.bytes.toString());
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)], former), [{ code: "kit_unknown" }]);
  isErrorBody(t, await hub.call("GET", at, { key: former }), 404, "not_found");
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)], next), [{ state: "taken" }]);
  await hub.call("POST", `/devkeys/projects/${project.id}/transfer`, { json: { owner: "third" } });
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)], last), [{ code: "kit_unknown" }]);
});

t.test("a hub forgets a kit a year after its end, and keeps its reports", async (t) => {
  let now = Date.now();
  const { hub, project, pier, make, list, at } = await made(t, { clock: () => now });
  const days = (count: number): number => count * 86_400_000;
  const kit = (await make({ lasts_s: 86_400 })).body as unknown as MadeKit;
  const ended = (await make({ lasts_s: 30 * 86_400 })).body as unknown as MadeKit;
  await hub.call("DELETE", `${at}/${ended.id}`, { key: project.key });
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)]), [{ state: "taken" }]);
  now += days(366);
  await hub.hub.upkeep.run();
  t.strictSame(new Set((await list()).map(({ id }) => id)), new Set([kit.id, ended.id]));
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)]), [{ state: "taken" }], "from a long way");
  now += days(2);
  await hub.hub.upkeep.run();
  t.match(await list(), [{ id: ended.id }], "hosts take it until its own end, whoever ended it at the hub");
  t.match(await submitted(hub, [reportOf(pier, kit.id, project.id)]), [{ code: "kit_unknown" }]);
  t.match((await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts/pier-7`)).body, {
    by_kit: { kit: kit.id },
  });
  const { items } = (await hub.call("GET", "/devkeys/audit?action=kit.make")).body as { items: object[] };
  t.equal(items.length, 2);
  now += days(29);
  await hub.hub.upkeep.run();
  t.strictSame(await list(), []);
});
