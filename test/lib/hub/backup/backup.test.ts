import { renameSync, rmSync } from "node:fs";
import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t, { type Test } from "tap";
import { backupHub, type CopyOptions, moveHub, restoreHub } from "../../../../lib/hub/backup/backup.ts";
import type { Omission } from "../../../../lib/hub/backup/omissions.ts";
import { type StorageFault, verifyHub } from "../../../../lib/hub/backup/verify.ts";
import { FEATURES } from "../../../../lib/hub/features.ts";
import type { HubStorage } from "../../../../lib/hub/storage/open.ts";
import { type Filled, filledHub } from "../../../support/hub/filled-hub.ts";
import { publication, type RunningHub, startHub } from "../../../support/hub/harness.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";
import { startS3 } from "../../../support/hub/s3-server.ts";

/** Everything that a host, a publisher and an administrator get from the original is got from the copy. */
async function isWhole(t: Test, copy: RunningHub, { hub, project, published, archive }: Filled): Promise<void> {
  const key = hub.adminKey;
  const json = { xdevkey: project.key, project_id: project.id };
  const { access_token: bearer } = (await copy.call("POST", "/app/deploy/v1/auth", { key: null, json })).body as {
    access_token: string;
  };
  for (const what of published) {
    const path = `/app/deploy/v1/projects/${project.id}/artifacts/${what.version}`;
    const { download_url: url } = (await copy.call("GET", path, { bearer })).body as { download_url: string };
    t.ok((await copy.call("GET", url, { key: null })).bytes.equals(what.bytes), what.version);
    const authorized = await copy.call("POST", "/app/deploy/v1/deployments/authorize", {
      bearer,
      json: { deployment_credential: project.credential, artifact_signature: what.signature.toString("base64") },
    });
    t.equal(authorized.body.dek, what.dek.toString("base64"));
  }
  t.ok((await copy.call("GET", "/app/marketplace/plugins/tide/install", { key })).bytes.equals(archive));
  const fleet = await copy.call("GET", "/app/deployments/deployments/plugin/tide/hosts", { key });
  const hosts = fleet.body as Record<string, { error_message: string }>;
  t.strictSame(Object.keys(hosts), ["alpha"]);
  t.match(hosts["alpha"]!.error_message, "\u2028", "a text with characters that end lines elsewhere");
  const again = await copy.call("POST", `/app/deploy/v1/projects/${project.id}/publish`, {
    key: project.key,
    json: {},
  });
  t.not(again.status, 500);
}

/** Starts a hub on a copy, whose administrator has the key of the original. */
async function startCopy(t: Test, original: RunningHub, storage: HubStorage): Promise<RunningHub> {
  const names = ["admin.key", "kek.json"];
  for (const name of names) await copyFile(join(original.dataDir, name), join(storage.dataDir, name));
  return startHub(t, storage);
}

t.test("restore drill: a hub that lost everything but a backup and its KEKs is as it was", async (t) => {
  const folder = t.testdir();
  const all = await filledHub(t, join(folder, "hub"));
  const first = await backupHub({ hooks: FEATURES, dataDir: all.hub.dataDir }, join(folder, "backup"));
  t.match(first, { copied: 4, present: 0, bytes: 600_000 + all.archive.length });
  const later = publication("1.3.0", { size: 100_000 });
  await all.project.publish(later);
  all.published.push(later);
  t.match(await backupHub({ hooks: FEATURES, dataDir: all.hub.dataDir }, join(folder, "backup")), {
    copied: 1,
    present: 4,
  });
  const text = JSON.stringify(await readFile(join(folder, "backup", "backup.json"), "utf8"));
  const [kek] = (JSON.parse(await readFile(join(all.hub.dataDir, "kek.json"), "utf8")) as { keys: { key: string }[] })
    .keys;
  t.notMatch(text, kek!.key, "the KEKs are apart");

  await all.hub.hub.close();
  const storage = { hooks: FEATURES, dataDir: join(folder, "restored") };
  await restoreHub(join(folder, "backup"), storage, { trust: "unsigned" });
  await t.rejects(restoreHub(join(folder, "backup"), storage, { trust: "unsigned" }), {
    code: "usage",
    message: /that of another hub/,
  });
  await isWhole(t, await startCopy(t, all.hub, storage), all);
});

t.test("a backup beside a hub that is written to holds what was committed at one moment, whole", async (t) => {
  const folder = t.testdir();
  const { hub, project } = await filledHub(t, join(folder, "hub"));
  let writing = true;
  const writer = (async () => {
    for (let i = 0; writing; i++)
      t.equal((await project.publish(publication(`2.0.${i}`, { size: 50_000 }))).status, 201);
  })();
  for (let round = 0; round < 2; round++) {
    await backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, join(folder, `backup-${round}`));
    const storage = { hooks: FEATURES, dataDir: join(folder, `restored-${round}`) };
    await restoreHub(join(folder, `backup-${round}`), storage, { trust: "unsigned" });
    const findings: StorageFault[] = [];
    await verifyHub(storage, { quick: false, onFinding: (finding) => findings.push(finding) });
    t.strictSame(findings, []);
  }
  writing = false;
  await writer;
});

t.test("a hub moves from SQLite and a folder to PostgreSQL and a bucket, and back", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const folder = t.testdir({ objects: {} });
  const s3 = await startS3(t, join(folder, "objects"));
  const all = await filledHub(t, join(folder, "hub"));
  const there = { hooks: FEATURES, dataDir: join(folder, "there"), databaseUrl, blobUrl: s3.url() };
  await moveHub({ hooks: FEATURES, dataDir: all.hub.dataDir }, there);
  const later = publication("1.3.0", { size: 100_000 });
  await all.project.publish(later);
  all.published.push(later);
  await all.hub.hub.close();
  t.match(
    await moveHub({ hooks: FEATURES, dataDir: all.hub.dataDir }, there),
    { copied: 1 },
    "the second time brings it up to date",
  );
  const moved = await startCopy(t, all.hub, there);
  await isWhole(t, moved, all);
  await moved.hub.close();

  const back = { hooks: FEATURES, dataDir: join(folder, "back") };
  await moveHub(there, back);
  await isWhole(t, await startCopy(t, all.hub, back), all);

  const stranger = await startHub(t, { dataDir: join(folder, "stranger") });
  await t.rejects(moveHub({ hooks: FEATURES, dataDir: stranger.dataDir }, back), {
    code: "usage",
    message: /that of another hub/,
  });
});

t.test("verify finds what is gone, cut and changed, and what nobody has recorded", async (t) => {
  const folder = t.testdir();
  const { hub, project } = await filledHub(t, join(folder, "hub"));
  const ids: string[] = [];
  for (const version of ["3.0.0", "3.1.0", "3.2.0"]) {
    const { artifact_id: id } = (await project.publish(publication(version))).body as { artifact_id: string };
    ids.push(id);
  }
  const pathOf = (id: string) => join(hub.dataDir, "blobs", id.slice(-2), id);
  await rm(pathOf(ids[0]!));
  await writeFile(pathOf(ids[1]!), "short");
  const bytes = await readFile(pathOf(ids[2]!));
  bytes[0]! ^= 1;
  await writeFile(pathOf(ids[2]!), bytes);
  await mkdir(join(hub.dataDir, "blobs", "00"), { recursive: true });
  await writeFile(join(hub.dataDir, "blobs", "00", `art_${"0".repeat(32)}`), "orphan");
  const findings: StorageFault[] = [];
  const onFinding = (finding: StorageFault) => findings.push(finding);
  t.match(await verifyHub({ hooks: FEATURES, dataDir: hub.dataDir }, { quick: false, onFinding }), {
    checked: 7,
    findings: 3,
    unrecorded: 1,
  });
  t.strictSame(
    findings,
    (["missing", "wrong_size", "wrong_bytes"] as const).map((fault, i) => ({
      ...{
        table: "blobs",
        id: ids[i]!,
        fault,
        part: "artifact",
        project: project.id,
        name: "Demo",
        version: `3.${i}.0`,
      },
    })),
  );
  findings.length = 0;
  await verifyHub({ hooks: FEATURES, dataDir: hub.dataDir }, { quick: true, onFinding });
  t.equal(findings.length, 2, "sizes only");
  await t.rejects(backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, join(folder, "backup")), {
    code: "record_damaged",
  });
  await t.rejects(
    restoreHub(join(folder, "backup"), { hooks: FEATURES, dataDir: join(folder, "x") }, { trust: "unsigned" }),
    {
      code: "usage",
    },
  );
  await t.rejects(verifyHub({ hooks: FEATURES, dataDir: join(folder, "nowhere") }, { quick: true, onFinding }), {
    code: "usage",
  });
});

t.test("a version that is deleted meanwhile is taken from the trash or left out, and ends no run", async (t) => {
  const folder = t.testdir();
  const { hub } = await filledHub(t, join(folder, "hub"));
  await hub.hub.close();
  const runs: Record<string, (storage: HubStorage, options: CopyOptions) => Promise<unknown>> = {
    backup: (storage, options) => backupHub(storage, `${storage.dataDir}-backup`, options),
    move: (storage, options) => moveHub(storage, { hooks: FEATURES, dataDir: `${storage.dataDir}-moved` }, options),
    verify: (storage, { onProgress = () => {} }) =>
      verifyHub(storage, { quick: false, onFinding: () => t.fail(), onProgress }),
  };
  for (const [name, run] of Object.entries(runs)) {
    for (const place of ["trash", "nowhere"]) {
      const dataDir = join(folder, `${name}-${place}`);
      await cp(hub.dataDir, dataDir, { recursive: true });
      const database = new DatabaseSync(join(dataDir, "hub.sqlite"));
      const { id } = database.prepare("select id from blobs where part = 'archive'").get() as { id: string };
      const blob = join(dataDir, "blobs", id.slice(-2), id);
      const omissions: Omission[] = [];
      let isDeleted = false;
      // The first of more artifacts than are copied at once: the plugin's version comes last.
      const onProgress = (): void => {
        if (isDeleted) return;
        isDeleted = true;
        database.exec(`delete from versions where id = '${id}'`);
        if (place === "trash") renameSync(blob, join(dataDir, "blobs", "trash", id));
        else rmSync(blob);
      };
      await run({ hooks: FEATURES, dataDir }, { onProgress, onOmission: (omission) => omissions.push(omission) });
      database.close();
      t.ok(isDeleted);
      const isLeftOut = place === "nowhere" && name !== "verify";
      // A move has passed the version before it met the blob: the second reading leaves it out.
      const left = [{ table: "blobs", id, reason: "deleted" }, ...(name === "move" ? [{ table: "versions", id }] : [])];
      t.match(omissions, isLeftOut ? left : []);
      t.equal(omissions.length, isLeftOut ? left.length : 0);
      if (name !== "move") continue;
      const moved = new DatabaseSync(join(`${dataDir}-moved`, "hub.sqlite"));
      const { latest_version: latest } = moved
        .prepare("select latest_version from projects where kind = 'plugin'")
        .get()!;
      t.equal(latest, isLeftOut ? null : "1.0.0", "no project names a version that is left out");
      moved.close();
    }
  }
});

t.test("a backup of another version is refused, and says what to do", async (t) => {
  const folder = t.testdir();
  const { hub } = await filledHub(t, join(folder, "hub"));
  const backup = join(folder, "backup");
  await backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, backup);
  const file = join(backup, "backup.json");
  const manifest = JSON.parse(await readFile(file, "utf8")) as { schema: string[] };
  const restore = async (facts: object) => {
    await writeFile(file, JSON.stringify({ ...manifest, ...facts }));
    return restoreHub(backup, { hooks: FEATURES, dataDir: join(folder, "restored") }, { trust: "unsigned" });
  };
  const hint = /Restore it with that version/;
  await t.rejects(restore({ schema: manifest.schema.slice(0, 1) }), { code: "usage", message: /earlier/, hint });
  await t.rejects(restore({ schema: [...manifest.schema, "9999-later"] }), { code: "usage", message: /newer/ });
  await t.rejects(restore({ format: 1 }), { code: "usage", hint: /another version of Sealift/ });
});
