// Only in test:all: hubs and commands of keys are started in dozens, 6 s of a processor.
import { chmod, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { createHub } from "../../../../lib/hub/hub.ts";
import { formatKeks, newKek, readKekFile } from "../../../../lib/hub/keys/kek-file.ts";
import { rotateKek } from "../../../../lib/hub/keys/rotate-kek.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import { findKeks } from "../../../../lib/hub/records/keks.ts";
import { createProject, publication, startHub } from "../../../support/hub/harness.ts";
import { startPostgresServer } from "../../../support/hub/postgres-server.ts";

t.test("of two hubs that start at once with one KEK file, one makes the key and both use it", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const folder = t.testdir();
  for (let round = 0; round < 12; round++) {
    await postgres.run(`CREATE DATABASE round${round}`);
    const databaseUrl = postgres.url.replace(/postgres$/, `round${round}`);
    const keks = { file: join(folder, `kek-${round}.json`) };
    const blobUrl = join(folder, `blobs-${round}`);
    const hubs = await Promise.all(
      ["a", "b"].map((name) => createHub({ dataDir: join(folder, `${name}-${round}`), databaseUrl, keks, blobUrl })),
    );
    const database = await openDatabase({ hooks: FEATURES, dataDir: folder, url: databaseUrl });
    const file = await readKekFile(keks.file);
    t.strictSame(
      [...(await findKeks(database.kysely))],
      file.map(({ id }) => id),
      `round ${round}`,
    );
    await database.close();
    for (const hub of hubs) await hub.close();
  }
  t.notOk((await readdir(folder)).some((name) => name.endsWith(".pending")));
});

t.test("of two hubs with KEK files of their own, the second says what to do", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const folder = t.testdir();
  const options = { databaseUrl: postgres.url, blobUrl: join(folder, "blobs") };
  const first = await startHub(t, { dataDir: join(folder, "a"), ...options });
  const refusal = { code: "credential_unreadable", exitCode: 2, hint: /copy it from the hub that has it/ };
  await t.rejects(createHub({ dataDir: join(folder, "b"), ...options }), refusal);
  await writeFile(join(folder, "b", "kek.json"), formatKeks([newKek(0)]));
  await t.rejects(createHub({ dataDir: join(folder, "b"), ...options }), { message: /never been used with a key of/ });
  await writeFile(join(folder, "b", "kek.json"), await readFile(join(folder, "a", "kek.json")));
  await (await createHub({ dataDir: join(folder, "b"), ...options })).close();
  t.equal((await first.call("GET", "/readyz")).status, 200);
});

t.test("a crash between the registration of a KEK and its file costs nothing", async (t) => {
  const hub = await startHub(t);
  await hub.hub.close();
  const path = join(hub.dataDir, "kek.json");
  const [kek] = await readKekFile(path);
  await rename(path, `${path}.${kek!.id}.pending`);
  const again = await startHub(t, { dataDir: hub.dataDir });
  t.strictSame(await readKekFile(path), [kek]);
  t.equal((await again.call("GET", "/readyz")).status, 200);
});

t.test("KEKs may come from a command, which is asked again when a record names another one", async (t) => {
  const folder = t.testdir();
  const [kms, asked] = [join(folder, "kms.json"), join(folder, "asked")];
  await writeFile(kms, formatKeks([newKek(0)]));
  const keks = { command: `echo >> ${asked}; cat ${kms}` };
  const dataDir = join(folder, "hub");
  const hub = await startHub(t, { dataDir, keks });
  const project = await createProject(hub);
  const what = publication("1.0.0");
  await project.publish(what);
  t.notOk((await readdir(dataDir)).includes("kek.json"));

  const [before] = await readKekFile(kms);
  await writeFile(kms, formatKeks([before!, newKek(1)]));
  const { kekId, dropped } = await rotateKek({ hooks: FEATURES, dataDir, keks });
  const after = await readKekFile(kms);
  t.equal(kekId, after[1]!.id, "the newest of the keys, which only their manager adds");
  t.strictSame(dropped, [before!.id]);
  const bearer = await project.session();
  const json = { deployment_credential: project.credential, artifact_signature: what.signature.toString("base64") };
  const authorized = await hub.call("POST", "/app/deploy/v1/deployments/authorize", { bearer, json });
  t.equal(authorized.body.dek, what.dek.toString("base64"));
  t.ok((await readFile(asked, "utf8")).length < 10, "it is not asked at every request");
});

t.test("a KEK command that fails, hangs up or prints something else is told without what it printed", async (t) => {
  const dataDir = t.testdir();
  for (const [command, message] of [
    ["echo verysecret; exit 3", /failed with exit code 3/],
    ["echo verysecret", /something else than KEKs/],
    ["kill -9 $$", /ended by a signal/],
    ["head -c 2000000 /dev/zero 2>/dev/null", /more than 1048576 bytes/],
  ] as const) {
    const error = await createHub({ dataDir, keks: { command } }).catch((thrown: unknown) => thrown);
    t.match(error, { code: "credential_unreadable", message }, command);
    t.notMatch(String(error), /verysecret/);
  }
});

t.test("a managed KEK file, such as a credential, is only read", async (t) => {
  const folder = t.testdir();
  const file = join(folder, "kek");
  await writeFile(file, formatKeks([newKek(0)]));
  await chmod(file, 0o400);
  const keks = { file, isManaged: true };
  const dataDir = join(folder, "hub");
  await startHub(t, { dataDir, keks });
  const text = await readFile(file, "utf8");
  t.strictSame((await rotateKek({ hooks: FEATURES, dataDir, keks })).dropped, []);
  t.equal(await readFile(file, "utf8"), text);
});
