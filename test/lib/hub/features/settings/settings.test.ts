// Holds: which cards, documents and outcomes a hub keeps, and who gets them (lib/hub/features/settings/records.ts)
import t from "tap";
import { invitedCard, makeCard } from "../../../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../../../lib/artifact/sealed/host-key.ts";
import { openSettings, readOutcome } from "../../../../../lib/artifact/sealed/settings.ts";
import { publicKeyOf } from "../../../../../lib/artifact/signatures/ed25519.ts";
import { isErrorBody, publication, startHub } from "../../../../support/hub/harness.ts";
import { keyOf, withSettings } from "../../../../support/hub/settings.ts";
import { RACED, startRacedHubs } from "../../../../support/hub/two-hubs.ts";
import { needs } from "../../../../support/programs/optional.ts";

const NOTHING = {
  ...{ card: null, terms: null, number: null, to: null, uploaded_at: null, uploaded_by: null },
  ...{ outcome: null, outcome_at: null },
};

for (const database of RACED)
  t.test(
    `settings go from the operator to their host, and what became of them comes back (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [hub] = (await startRacedHubs(t, database))!;
      const { id, operatorSeed, host, sendCard, upload, own, say, shown } = await withSettings(hub);
      const pier = await host("pier-7");
      const other = await host("pier-8");
      t.strictSame(await shown(), [
        { host_id: "pier-7", ...NOTHING },
        { host_id: "pier-8", ...NOTHING },
      ]);
      isErrorBody(t, await own(pier.api), 404, "not_found");
      t.equal((await sendCard(pier)).status, 204);
      t.equal((await sendCard(pier)).status, 204, "and again, as at each start");

      const before = Math.floor(Date.now() / 1000);
      const uploaded = await upload([pier.document(1, null)]);
      t.equal(uploaded.status, 200);
      const first = uploaded.body["settings_version"] as number;
      t.ok(first >= before && first < before + 60, "beyond any number that a hub said before it was restored");
      t.equal((await upload([pier.document(2, 1)])).body["settings_version"], first + 1);

      const { body } = await own(pier.api);
      t.match(body, { to: pier.key.fingerprint, number: 2 });
      const operator = Buffer.from(publicKeyOf(operatorSeed)).toString("hex");
      const sealed = Buffer.from(body["sealed"] as string, "base64");
      const reader = { key: pier.key, project: id, operators: [operator] };
      t.match(openSettings(sealed, reader).signed, { number: 2, apps: { web: { SECRET: "tide" } } });
      isErrorBody(t, await own(other.api), 404, "not_found");

      const outcome = pier.outcome(2);
      t.equal((await say(pier.api, outcome)).status, 204);
      const [seven, eight] = await shown();
      t.match(seven, { host_id: "pier-7", card: pier.card, terms: pier.terms, number: 2, to: pier.key.fingerprint });
      t.equal(seven!.outcome, outcome, "as the host has signed it");
      t.strictSame(eight, { host_id: "pier-8", ...NOTHING });
      const { card } = invitedCard(seven!.card!, seven!.terms, { operator, project: id });
      t.equal(card.fingerprint, pier.key.fingerprint);
      const by = { ed25519: pier.key.ed25519, fingerprint: pier.key.fingerprint, project: id };
      t.match(readOutcome(seven!.outcome!, by), { number: 2, state: "applied" });
    },
  );

t.test("`latest` says a number of the project, and answers as before where there is none", async (t) => {
  const hub = await startHub(t);
  const { project, host, upload, latest } = await withSettings(hub);
  const pier = await host("pier-7");
  t.match(await latest(pier.api), { status: 404, body: { code: "no_version", settings_version: undefined } });
  const { body } = await upload([pier.document(1, null)]);
  const number = body["settings_version"] as number;
  t.match(await latest(pier.api), { status: 404, body: { code: "no_version", settings_version: number } });
  await project.publish(publication("1.0.0"));
  const after = await latest(pier.api, '"1.0.0"');
  t.strictSame(after, {
    ...{ status: 200, body: { version: "1.0.0", settings_version: number }, etag: `"1.0.0~settings=${number}"` },
  });
  t.equal((await latest(pier.api, after.etag!)).status, 304);
});

t.test("an upload is taken whole or not at all, and names the hosts that are elsewhere", async (t) => {
  const hub = await startHub(t);
  const { host, upload, own, shown, project, latest } = await withSettings(hub);
  const [seven, eight] = [await host("pier-7"), await host("pier-8")];
  await project.publish(publication("1.0.0"));
  const first = seven.document(3, null);
  t.equal((await upload([first])).status, 200);
  const { etag } = await latest(seven.api);
  for (const follows of [null, 2, 4]) {
    const refused = await upload([eight.document(1, null), seven.document(5, follows)]);
    t.match(refused, {
      status: 409,
      body: { code: "settings_conflict", error: /of pier-7\.$/, hosts: [{ host_id: "pier-7", number: 3 }] },
    });
    t.equal((refused.body["hosts"] as object[]).length, 1);
  }
  t.match(await upload([eight.document(2, 1)]), { status: 409, body: { hosts: [{ number: null }] } });
  t.equal((await own(eight.api)).status, 404);
  t.equal((await latest(seven.api)).etag, etag);
  const again = await upload([first, eight.document(1, null)]);
  t.equal(again.status, 200, "what is there already is passed over: an answer was lost");
  t.equal((await upload([first])).body["settings_version"], again.body["settings_version"], "and changes nothing");
  for (const change of [{ to: "ab".repeat(32) }, { sealed: eight.document(3, null).sealed }])
    t.match(
      await upload([{ ...first, ...change }]),
      { status: 409 },
      `the same number with another ${Object.keys(change)[0]}`,
    );
  t.match(await shown(), [{ number: 3 }, { number: 1 }]);
  t.match(await upload([{ ...first, number: 4, follows: 3 }]), { status: 200 });
  t.match(await shown(), [{ number: 4 }, { number: 1 }], "another number counts, whatever it comes with");
});

t.test("an upload names hosts of the project, each once, with higher numbers", async (t) => {
  const hub = await startHub(t);
  const { host, upload } = await withSettings(hub);
  const pier = await host("pier-7");
  const bad = [
    [pier.document(1, null, { host_id: "pier-9" })],
    [pier.document(1, null), pier.document(1, null, { host_id: "pier-9" })],
    [pier.document(1, null), pier.document(1, null)],
    [pier.document(3, 3)],
    [pier.document(1, null, { number: 0 })],
    [pier.document(1, null, { sealed: "no base64!" })],
    [pier.document(1, null, { to: "pier-7" })],
    [],
  ];
  for (const documents of bad) isErrorBody(t, await upload(documents), 422, "unprocessable");
  t.match(await upload(bad[0]!), { body: { error: /no key of the project speaks for pier-9/ } });
});

t.test("settings are of hosts of a project, and are sent by the host's own key", async (t) => {
  const hub = await startHub(t);
  const { at, host, sendCard, say, own, project } = await withSettings(hub);
  const pier = await host("pier-7");
  const of = { ...pier, api: project.key };
  for (const refused of [await sendCard(of), await own(of.api), await say(of.api, pier.outcome(1))])
    t.match(refused, { status: 403, body: { code: "forbidden", error: /this key speaks for any/ } });
  const json = { name: "Tide", kind: "plugin", slug: "tide" };
  const { body } = await hub.call("POST", "/devkeys/projects", { json });
  t.match(await hub.call("GET", `${at}/settings`), { status: 200 });
  isErrorBody(t, await hub.call("GET", `/devkeys/projects/${body["id"] as string}/settings`), 404, "not_found");
});

t.test("an outcome may be of a number that the hub does not have: it was restored to before", async (t) => {
  const hub = await startHub(t);
  const { host, sendCard, say, shown } = await withSettings(hub);
  const pier = await host("pier-7");
  t.equal((await say(pier.api, pier.outcome(8))).status, 204, "even without a card");
  await sendCard(pier);
  const last = pier.outcome(9, { state: "failed", code: "app_unhealthy" });
  t.equal((await say(pier.api, last)).status, 204);
  t.match(await shown(), [{ outcome: last, number: null }]);
});

t.test("rows go with their host: renamed, removed, dropped, and given away with it or not", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", owner: "bob" } });
  const { at, host, sendCard, upload, own, shown, id } = await withSettings(hub);
  const [seven, eight, nine] = [await host("pier-7"), await host("pier-8"), await host("pier-9")];
  for (const each of [seven, eight, nine]) await sendCard(each);
  await upload([seven, eight, nine].map((each) => each.document(1, null)));

  t.equal((await hub.call("PATCH", `${at}/joined-hosts/pier-7`, { json: { host_id: "quay-1" } })).status, 204);
  t.match((await own(seven.api)).body, { number: 1, to: seven.key.fingerprint }, "its key finds them");
  t.strictSame(
    (await shown()).map(({ host_id, number }) => [host_id, number]),
    [
      ["pier-8", 1],
      ["pier-9", 1],
      ["quay-1", 1],
    ],
  );
  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-8`)).status, 204);
  isErrorBody(t, await own(eight.api), 401, "host_removed");
  t.equal((await hub.call("DELETE", `${at}/settings/pier-9`)).status, 204);
  isErrorBody(t, await hub.call("DELETE", `${at}/settings/pier-9`), 404, "not_found");
  isErrorBody(t, await own(nine.api), 404, "not_found");
  t.strictSame(
    (await shown()).map(({ host_id, card, terms, number }) => [host_id, card, terms, number]),
    [
      ["pier-9", null, null, null],
      ["quay-1", seven.card, seven.terms, 1],
    ],
  );
  const give = (keep_keys: boolean, owner: string) =>
    hub.call("POST", `/devkeys/projects/${id}/transfer`, { json: { owner, keep_keys } });
  t.equal((await give(true, "bob")).status, 200);
  t.match((await own(seven.api)).body, { number: 1 }, "hosts whose keys stay keep their settings");
  t.equal((await give(false, "bob")).status, 409);
  t.equal((await give(false, "admin")).status, 200);
  t.strictSame(await shown(), [], "and those of ended keys nobody can read");
});

t.test("a deleted project takes its settings with it", async (t) => {
  const hub = await startHub(t);
  const { host, sendCard, upload, id } = await withSettings(hub);
  const pier = await host("pier-7");
  await sendCard(pier);
  await upload([pier.document(1, null)]);
  const { status, body } = await hub.call("DELETE", `/devkeys/projects/${id}`, { json: { name: "Demo", force: true } });
  t.equal(status, 200, JSON.stringify(body));
});

t.test("the audit log has who changed settings and cards of which hosts, and no text of them", async (t) => {
  const hub = await startHub(t);
  const { id, at, host, sendCard, upload, say } = await withSettings(hub);
  const pier = await host("pier-7");
  await sendCard(pier, { terms: undefined });
  await sendCard(pier);
  await sendCard(pier);
  const key = hostKeyOf(newHostSeed());
  const renewed = makeCard({ project: id, name: "pier-7" }, key, undefined);
  t.equal((await sendCard({ ...pier, card: renewed }, { terms: undefined })).status, 204);
  await upload([pier.document(1, null)]);
  await say(pier.api, pier.outcome(1));
  await hub.call("DELETE", `${at}/settings/pier-7`);
  const log = (await hub.call("GET", "/app/devkeys/audit?limit=200")).body.items as { action: string; facts: object }[];
  const told = log.filter(({ action }) => /^settings|host\.card/.test(action)).toReversed();
  t.match(told, [
    { action: "host.card", facts: { host_id: "pier-7", fingerprint: pier.key.fingerprint, before: null } },
    { action: "host.card", facts: { fingerprint: key.fingerprint, before: pier.key.fingerprint } },
    { action: "settings.upload", facts: { hosts: 1 } },
    { action: "settings.drop", facts: { host_id: "pier-7", number: 1 } },
  ]);
  t.equal(told.length, 4);
  t.notMatch(JSON.stringify(log), /X25519|sealed|signatures/);
});

t.test("terms that a thousand cards name are kept once, and go with the last card", async (t) => {
  const hub = await startHub(t);
  const { id, at, host, sendCard, shown } = await withSettings(hub);
  const [seven, eight] = [await host("pier-7"), await host("pier-8")];
  await sendCard(seven, { terms: undefined });
  t.match(await shown(), [{ card: seven.card, terms: null }, {}]);
  await sendCard(seven);
  t.match(await shown(), [{ card: seven.card, terms: seven.terms }, {}], "terms may come later");
  isErrorBody(t, await sendCard(seven, { terms: eight.terms }), 422, "unprocessable");
  const plain = makeCard({ project: id, name: "pier-7" }, seven.key, undefined);
  t.equal((await sendCard({ ...seven, card: plain }, { terms: undefined })).status, 204);
  t.match(await shown(), [{ card: plain, terms: null }, {}]);
  await hub.call("DELETE", `${at}/settings/pier-7`);
  t.equal((await sendCard(eight)).status, 204);
  t.match(await shown(), [{ card: null }, { terms: eight.terms }]);
});

t.test("a scope of its own uploads settings; with `read` a key lists them", async (t) => {
  const hub = await startHub(t);
  const { id, at, host, upload, project } = await withSettings(hub);
  const pier = await host("pier-7");
  const others = ["keys", "projects", "publish", "stage", "deploy", "report", "read"];
  for (const scope of others)
    isErrorBody(t, await upload([pier.document(1, null)], await keyOf(hub, [scope], id)), 403, "forbidden");
  isErrorBody(t, await upload([pier.document(1, null)], project.key), 403, "forbidden");
  const elsewhere = await withSettings(hub);
  isErrorBody(t, await upload([pier.document(1, null)], elsewhere.uploader), 404, "not_found");
  t.equal((await upload([pier.document(1, null)], await keyOf(hub, ["settings"]))).status, 200, "one of its owner");
  const list = async (scope: string) =>
    (await hub.call("GET", `${at}/settings`, { key: await keyOf(hub, [scope], id) })).status;
  t.strictSame([await list("read"), await list("settings"), await list("publish")], [200, 200, 403]);
});
