// Holds: which trust roots of a copy are sound (lib/hub/features/trust/tables.ts)
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t, { type Test } from "tap";
import { backupHub, moveHub, restoreHub } from "../../../../../lib/hub/backup/backup.ts";
import { type StorageFault, verifyBackup, verifyHub } from "../../../../../lib/hub/backup/verify.ts";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import type { HubStorage } from "../../../../../lib/hub/storage/open.ts";
import { heldKey, rootChain } from "../../../../support/forged/roots.ts";
import { createProject, isErrorBody, publication, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { trustAt } from "../../../../support/hub/trust.ts";
import { needs } from "../../../../support/programs/optional.ts";

/** A hub with a project that follows the second version of a root, and an invite for its first one. */
async function followed(t: Test) {
  const folder = t.testdir();
  const hub = await startHub(t, { dataDir: join(folder, "hub") });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const chain = rootChain();
  const texts = [1, 2].map((version) => chain.version(version, [heldKey()]));
  for (const text of texts) await trustAt(hub).publish(text, [project.id]);
  // Beside it a root of the same owner, and another owner's copy, of which none follows another.
  const other = rootChain();
  const another = other.version(1, [heldKey()]);
  await trustAt(hub).publish(another);
  const { body } = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "k", owner: "bob", scopes: ["projects"] },
  });
  const last = other.id > chain.id ? another : texts[0]!;
  const copied = await trustAt(hub).publish(last, undefined, body.key as string);
  t.equal(copied.status, 201);
  const json = { root: texts[0], expires_at: "2999-01-01T00:00:00Z" };
  await hub.call("POST", `/devkeys/projects/${project.id}/host-invites`, { json });
  return { folder, hub, project, chain, texts };
}

async function startCopy(t: Test, original: RunningHub, storage: HubStorage): Promise<RunningHub> {
  for (const name of ["admin.key", "kek.json"])
    await copyFile(join(original.dataDir, name), join(storage.dataDir, name));
  return startHub(t, storage);
}

/** The copy says, serves and goes on as the original did. */
async function isWhole(t: Test, copy: RunningHub, { project, chain, texts }: Awaited<ReturnType<typeof followed>>) {
  const { publish, read, show } = trustAt(copy);
  t.match((await show(chain.id)).body, { version: 2, targets: [project.id] });
  for (const [index, text] of texts.entries())
    t.equal((await read(chain.id, index + 1)).bytes.toString(), text, "byte for byte");
  const json = { xdevkey: project.key, project_id: project.id };
  const { body } = await copy.call("POST", "/app/deploy/v1/auth", { key: null, json });
  const latest = await copy.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, {
    bearer: body.access_token as string,
  });
  t.strictSame(latest.body, { version: "1.0.0", root_version: 2 });
  const invites = await copy.call("GET", `/devkeys/projects/${project.id}/host-invites`);
  t.match(invites.body.items, [{ signers: [], root: { id: chain.id, version: 1 } }]);
  isErrorBody(t, await publish(chain.version(2, [heldKey()])), 409, "trust_root_forked");
  t.match(await publish(chain.version(3, [heldKey()])), { status: 201, body: { targets: [project.id] } });
}

t.test("a restored hub has its roots, and goes on with them", async (t) => {
  const all = await followed(t);
  const storage = { hooks: FEATURES, dataDir: join(all.folder, "restored") };
  const backup = join(all.folder, "backup");
  await backupHub({ hooks: FEATURES, dataDir: all.hub.dataDir }, backup);
  await all.hub.hub.close();
  await restoreHub(backup, storage, { trust: "unsigned" });
  await isWhole(t, await startCopy(t, all.hub, storage), all);
});

t.test("so has one that moved to PostgreSQL", { skip: needs("initdb") }, async (t) => {
  const all = await followed(t);
  const there = { hooks: FEATURES, dataDir: join(all.folder, "there"), databaseUrl: (await startPostgres(t))! };
  await all.hub.hub.close();
  await moveHub({ hooks: FEATURES, dataDir: all.hub.dataDir }, there);
  await isWhole(t, await startCopy(t, all.hub, there), all);
});

/** Changes the database of a hub by hand. @returns what `hub verify` finds then, and what it finds in a backup */
async function found(t: Test, change: string) {
  const { hub, folder, chain } = await followed(t);
  const storage = { hooks: FEATURES, dataDir: hub.dataDir };
  const sound = join(folder, "sound");
  await backupHub(storage, sound);
  {
    using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { timeout: 10_000 });
    database.exec(change);
  }
  const findings: StorageFault[] = [];
  const options = { quick: true, onFinding: (finding: StorageFault) => findings.push(finding) };
  const { findings: none } = await verifyBackup(sound, { trust: "unsigned", hooks: FEATURES }, options);
  t.equal(none, 0, "the backup from before is sound");
  const { findings: count } = await verifyHub(storage, options);
  t.equal(count, findings.length);
  return { findings, named: (version: number) => `admin ${chain.id} ${version}` };
}

t.test("hub verify finds a root whose document is another one than its row says", async (t) => {
  const { findings, named } = await found(
    t,
    "update trust_roots set digest = (select digest from trust_roots where version = 1) where version = 2",
  );
  t.strictSame(findings, [
    { table: "trust_roots", id: named(2), fault: "digest: is another one than in the document" },
  ]);
});

t.test("hub verify finds a root that the one before does not verify", async (t) => {
  const { findings, named } = await found(
    t,
    "update trust_roots set document = json_set(document, '$.signatures', json('[]')) where version = 2",
  );
  t.match(findings, [{ table: "trust_roots", id: named(2), fault: /has 0 of 2 signatures/ }]);
});

t.test("hub verify finds a missing root", async (t) => {
  const { findings, named } = await found(t, "delete from trust_roots where version = 1");
  t.strictSame(findings, [{ table: "trust_roots", id: named(2), fault: "version 1 of the trust root is missing" }]);
});
