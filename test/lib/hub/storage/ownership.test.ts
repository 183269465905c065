import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createHub } from "../../../../lib/hub/hub.ts";
import { createProject, publication, type RunningHub, startHub, storedFiles } from "../../../support/hub/harness.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";

/** A hub that has published three versions, and has ended. */
async function stopped(t: Test, folder = t.testdir()): Promise<RunningHub & { blobs: string[] }> {
  const hub = await startHub(t, { dataDir: join(folder, "hub") });
  const project = await createProject(hub);
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) await project.publish(publication(version));
  await hub.hub.close();
  return { ...hub, blobs: (await storedFiles(hub)).toSorted() };
}

const REFUSAL = {
  code: "usage",
  exitCode: 2,
  message: /this is not the database that belongs here/,
  hint: /--database-url/,
};

t.test("a second hub with the blobs of the first refuses to start, and removes nothing", async (t) => {
  const folder = t.testdir();
  const first = await stopped(t, folder);
  await t.rejects(createHub({ dataDir: join(folder, "second"), blobUrl: join(first.dataDir, "blobs") }), REFUSAL);
  t.strictSame((await storedFiles(first)).toSorted(), first.blobs);
  t.notOk((await readdir(join(folder, "second"))).includes("admin.key"), "nothing was created in the wrong database");
  const again = await startHub(t, { dataDir: first.dataDir });
  t.equal((await again.call("GET", "/readyz")).status, 200);
});

t.test("a hub whose SQLite file is gone, or mistyped, refuses to start", async (t) => {
  const hub = await stopped(t);
  const path = join(hub.dataDir, "hub.sqlite");
  await rename(path, `${path}.away`);
  await t.rejects(createHub({ dataDir: hub.dataDir }), REFUSAL);
  await t.rejects(createHub({ dataDir: hub.dataDir }), REFUSAL, "also the second time");
  await t.rejects(createHub({ dataDir: hub.dataDir, databaseUrl: `sqlite:${path}.typo` }), REFUSAL);
  t.strictSame((await storedFiles(hub)).toSorted(), hub.blobs);
  for (const name of await readdir(hub.dataDir))
    if (name.startsWith("hub.sqlite") && !name.endsWith(".away")) await rm(join(hub.dataDir, name));
  await rename(`${path}.away`, path);
  const again = await startHub(t, { dataDir: hub.dataDir });
  t.equal(again.adminKey, hub.adminKey, "its administrator's key is the old one");
});

t.test("a used data folder refuses a new PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const hub = await stopped(t);
  await t.rejects(createHub({ dataDir: hub.dataDir, databaseUrl }), REFUSAL);
  t.strictSame((await storedFiles(hub)).toSorted(), hub.blobs);
});

t.test("a database that has a hub of its own does not take another's folders over", async (t) => {
  const folder = t.testdir();
  const first = await stopped(t, folder);
  const other = await startHub(t, { dataDir: join(folder, "other") });
  await other.hub.close();
  const databaseUrl = `sqlite:${join(other.dataDir, "hub.sqlite")}`;
  const keks = { file: join(other.dataDir, "kek.json") };
  await t.rejects(createHub({ dataDir: other.dataDir, blobUrl: join(first.dataDir, "blobs") }), {
    code: "usage",
    message: /Another hub's database has its blobs/,
  });
  await t.rejects(createHub({ dataDir: first.dataDir, databaseUrl, keks }), {
    code: "usage",
    message: /belongs to another database/,
  });
  t.strictSame((await storedFiles(first)).toSorted(), first.blobs);
});

t.test(
  "folders of earlier versions, which nobody has claimed, go to the database that knows their blobs",
  async (t) => {
    const folder = t.testdir();
    const first = await stopped(t, folder);
    const other = await startHub(t, { dataDir: join(folder, "other") });
    await other.hub.close();
    for (const path of [join(first.dataDir, "blobs", "sealift-database"), join(first.dataDir, "database-id")])
      await rm(path);
    await rm(join(other.dataDir, "database-id"));
    await t.rejects(createHub({ dataDir: other.dataDir, blobUrl: join(first.dataDir, "blobs") }), {
      code: "usage",
      message: /knows nothing of what is in the folder/,
    });
    await startHub(t, { dataDir: first.dataDir });
    t.strictSame((await storedFiles(first)).toSorted(), first.blobs);
  },
);
