// Holds: the tables of settings in copies of a hub (lib/hub/features/settings/tables.ts)
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { makeCard } from "../../../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../../../lib/artifact/sealed/host-key.ts";
import { signOutcome } from "../../../../../lib/artifact/sealed/settings.ts";
import { makeTerms } from "../../../../../lib/artifact/sealed/terms.ts";
import { backupHub, restoreHub } from "../../../../../lib/hub/backup/backup.ts";
import { type StorageFault, verifyHub } from "../../../../../lib/hub/backup/verify.ts";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import type { HubStorage } from "../../../../../lib/hub/storage/open.ts";
import { publication, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { settingsAt, withSettings } from "../../../../support/hub/settings.ts";

/** A hub with settings of one host, which has said what became of them. */
async function settled(t: Test) {
  const folder = t.testdir();
  const hub = await startHub(t, { dataDir: join(folder, "hub") });
  const made = await withSettings(hub);
  await made.project.publish(publication("1.0.0"));
  const pier = await made.host("pier-7");
  await made.sendCard(pier);
  await made.upload([pier.document(5, null)]);
  await made.say(pier.api, pier.outcome(5));
  return { folder, hub, made, pier };
}

async function startCopy(t: Test, original: RunningHub, storage: HubStorage): Promise<RunningHub> {
  for (const name of ["admin.key", "kek.json"])
    await copyFile(join(original.dataDir, name), join(storage.dataDir, name));
  return startHub(t, storage);
}

t.test("a restored hub has settings as of its backup; one upload heals it, and hosts hear of it", async (t) => {
  const { folder, hub, made, pier } = await settled(t);
  const backup = join(folder, "backup");
  await backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, backup);
  const shown = await made.shown();
  const heard = [(await made.latest(pier.api)).etag];
  for (const number of [6, 7, 8]) {
    await made.upload([pier.document(number, number - 1)]);
    heard.push((await made.latest(pier.api)).etag);
  }
  await hub.hub.close();
  const storage = { hooks: FEATURES, dataDir: join(folder, "restored") };
  await restoreHub(backup, storage, { trust: "unsigned" });
  const copy = settingsAt(await startCopy(t, hub, storage), made.id, made.uploader);
  t.strictSame(await copy.shown(), shown);
  t.equal((await copy.latest(pier.api)).etag, heard[0]);
  const said = pier.outcome(8);
  t.equal((await copy.say(pier.api, said)).status, 204);
  t.match(await copy.shown(), [{ number: 5, outcome: said }], "the operator learns that the host is ahead");
  t.match(await copy.upload([pier.document(9, 8)]), { status: 409, body: { hosts: [{ number: 5 }] } });
  // The uploads before were several in one second, and numbers follow the clock.
  await sleep(5_000);
  for (const number of [9, 10, 11]) {
    const { status } = await copy.upload([pier.document(number, number === 9 ? 5 : number - 1)]);
    t.equal(status, 200);
    const { etag } = await copy.latest(pier.api);
    if (number === 9) t.notOk(heard.includes(etag), "no number that the host has heard before");
  }
  t.match((await copy.own(pier.api)).body, { number: 11 });
});

/** Changes the database of a hub, and returns what `hub verify` finds then. */
async function foundAfter(hub: RunningHub, change: (database: DatabaseSync) => void): Promise<StorageFault[]> {
  {
    using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { timeout: 10_000 });
    change(database);
  }
  const findings: StorageFault[] = [];
  const options = { quick: true, onFinding: (finding: StorageFault) => findings.push(finding) };
  await verifyHub({ hooks: FEATURES, dataDir: hub.dataDir }, options);
  return findings;
}

t.test("hub verify finds nothing wrong with settings, also of a host that has sent no card", async (t) => {
  const { hub, made } = await settled(t);
  const other = await made.host("pier-8");
  await made.upload([other.document(1, null)]);
  t.strictSame(await foundAfter(hub, () => {}), []);
});

t.test("hub verify finds cards, terms and outcomes that are right in another project", async (t) => {
  const { hub, made } = await settled(t);
  const project = `prj_${"0".repeat(32)}`;
  const key = hostKeyOf(newHostSeed());
  const facts = { project, to: key.fingerprint, number: 5, digest: "ab".repeat(32), state: "applied" } as const;
  const outcome = signOutcome({ ...facts, code: null, ignored: [], at: new Date().toISOString() }, key);
  const terms = makeTerms(
    { project, labels: {}, uses: 1, pins: "ab".repeat(16), expires_at: "2999-01-01T00:00:00Z" },
    made.operatorSeed,
  );
  for (const [sql, text, fault] of [
    [
      "update host_settings set card = ?, terms_digest = null",
      makeCard({ project, name: "pier-7" }, key, undefined),
      "card: is of another project",
    ],
    ["update host_terms set terms = ?", terms.text, /^digest: is another/],
    [`update host_terms set terms = ?, digest = '${terms.digest}'`, terms.text, "terms: are of another project"],
    // It is looked at first.
    ["update host_settings set outcome = ?", outcome, "outcome: is of another project"],
  ] as const) {
    const findings = await foundAfter(hub, (database) => {
      database.prepare(sql).run(text);
    });
    t.ok(
      findings.some((one) => (typeof fault === "string" ? one.fault === fault : fault.test(one.fault))),
      JSON.stringify(findings),
    );
  }
});

for (const [name, change, fault] of [
  [
    "a card of another host's project",
    "update host_settings set card = replace(card, project_id, 'prj_00000000000000000000000000000000')",
    /the key that it names has not signed it/,
  ],
  ["a card that names other terms", "update host_settings set terms_digest = null", /^terms_digest: is another/],
  ["terms of a host without a card", "update host_settings set card = null", /^terms_digest: stands without a card/],
  ["settings without their bytes", "update host_settings set sealed = null", /^number: stands without/],
  ["a changed outcome", "update host_settings set outcome = '{}'", /What the host says of its settings/],
  ["terms of another digest", `update host_terms set digest = '${"ab".repeat(32)}'`, /^digest: is another/],
  [
    "changed terms of an invite",
    "update host_invites set terms = replace(terms, 'prod', 'test')",
    /^terms: .*has not signed/,
  ],
] as const)
  t.test(`hub verify finds ${name}`, async (t) => {
    const { hub } = await settled(t);
    t.match(await foundAfter(hub, (database) => database.exec(change)), [{ fault }]);
  });
