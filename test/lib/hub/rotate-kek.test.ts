// Only in test:all: keys of many versions are wrapped anew.
import { once } from "node:events";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { createHub } from "../../../lib/hub/hub.ts";
import { lockKekFile, newKek, readKekFile, writeKekFile } from "../../../lib/hub/keys/kek-file.ts";
import { kekFileSource } from "../../../lib/hub/keys/kek-source.ts";
import { Keyring } from "../../../lib/hub/keys/keyring.ts";
import { rotateKek } from "../../../lib/hub/keys/rotate-kek.ts";
import { dekContext, seal, unseal } from "../../../lib/hub/keys/sealing.ts";
import {
  createProject,
  type ProjectAccess,
  type Publication,
  publication,
  type RunningHub,
  startHub,
} from "../../support/hub/harness.ts";

const FEATURE_LIST = new URL("../../../lib/hub/features.ts", import.meta.url).href;
const ROTATE = new URL("../../../lib/hub/keys/rotate-kek.ts", import.meta.url).href;

const authorize = async (hub: RunningHub, project: ProjectAccess, bearer: string, what: Publication) => {
  const answer = await hub.call("POST", "/app/deploy/v1/deployments/authorize", {
    bearer,
    json: { deployment_credential: project.credential, artifact_signature: what.signature.toString("base64") },
  });
  return answer.body.dek as string | undefined;
};

t.test("a sealed DEK opens only with its KEK, for its project and artifact", async (t) => {
  const kek = newKek(0);
  const dek = Buffer.alloc(32, 5);
  const sealed = seal(dek, kek, dekContext("prj_a", "art_1"));
  t.equal(sealed.kekId, kek.id);
  t.ok(unseal(sealed, kek, dekContext("prj_a", "art_1")).equals(dek));
  t.not(seal(dek, kek, dekContext("prj_a", "art_1")).sealed, sealed.sealed, "nonces are fresh");
  t.throws(() => unseal(sealed, kek, dekContext("prj_b", "art_1")));
  t.throws(() => unseal(sealed, kek, dekContext("prj_a", "art_2")));
  t.throws(() => unseal(sealed, kek, ["dek", "prj_aart", "_1"]));
  t.throws(() => unseal(sealed, newKek(0), dekContext("prj_a", "art_1")));
});

t.test("a rotation beside a running hub loses no key, while versions are published and authorized", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const published: Publication[] = [];
  const publish = async (version: string) => {
    const what = publication(version);
    t.equal((await project.publish(what)).status, 201);
    published.push(what);
  };
  for (let i = 0; i < 5; i++) await publish(`1.0.${i}`);
  const bearer = await project.session();
  const before = await readKekFile(join(hub.dataDir, "kek.json"));

  // Another program in real life: waiting for SQLite's write lock must not stop the hub, which gives it back.
  const rotations = once(
    new Worker(
      `Promise.all([import(${JSON.stringify(ROTATE)}), import(${JSON.stringify(FEATURE_LIST)})]).then(async ([{ rotateKek }, { FEATURES: hooks }]) => {
        for (let i = 0; i < 4; i++) await rotateKek({ hooks, dataDir: ${JSON.stringify(hub.dataDir)} });
      })`,
      { eval: true },
    ),
    "exit",
  ).then(([code]) => t.equal(code, 0));
  const publishing = (async () => {
    for (let i = 0; i < 12; i++) await publish(`2.0.${i}`);
  })();
  const reading = (async () => {
    for (let i = 0; i < 40; i++) {
      const what = published[i % 5]!;
      t.equal(await authorize(hub, project, bearer, what), what.dek.toString("base64"));
    }
  })();
  await Promise.all([rotations, publishing, reading]);

  const { kekId, rewrapped, dropped } = await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });
  t.equal(rewrapped, published.length + 1, "every DEK and the hub's own secret");
  t.ok(dropped.length >= 1);
  const after = await readKekFile(join(hub.dataDir, "kek.json"));
  t.strictSame(
    after.map(({ id }) => id),
    [kekId],
  );
  t.not(after[0]?.id, before[0]?.id);
  t.equal((await stat(join(hub.dataDir, "kek.json"))).mode & 0o777, 0o600);
  for (const what of published) {
    t.equal(await authorize(hub, project, bearer, what), what.dek.toString("base64"), what.version);
  }
});

t.test("download URLs survive a rotation", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
  const location = await hub.call("GET", path, { bearer: await project.session() });
  await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });
  await hub.hub.close();
  const again = await startHub(t, { dataDir: hub.dataDir });
  const url = (location.body.download_url as string).replace(hub.url, again.url);
  t.equal((await again.call("GET", url, { key: null })).status, 200);
});

t.test("a rotation against a database that is not the hub's changes no key", async (t) => {
  const hub = await startHub(t);
  const other = await startHub(t, { dataDir: join(hub.dataDir, "other") });
  const path = join(hub.dataDir, "kek.json");
  const before = await readFile(path, "utf8");
  const foreign = `sqlite:${join(other.dataDir, "hub.sqlite")}`;
  await t.rejects(rotateKek({ hooks: FEATURES, dataDir: hub.dataDir, databaseUrl: foreign }), {
    code: "credential_unreadable",
  });
  const missing = `sqlite:${join(hub.dataDir, "none.sqlite")}`;
  await t.rejects(rotateKek({ hooks: FEATURES, dataDir: hub.dataDir, databaseUrl: missing }), { code: "usage" });
  t.equal(await readFile(path, "utf8"), before);
});

t.test("a dry run counts what a rotation changes, and changes nothing", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  for (const version of ["1.0.0", "1.1.0"]) await project.publish(publication(version));
  const path = join(hub.dataDir, "kek.json");
  const before = await readFile(path, "utf8");
  const told = await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir, dryRun: true });
  t.equal(await readFile(path, "utf8"), before);
  t.equal(told.kekId, undefined);
  const managed = { hooks: FEATURES, dataDir: hub.dataDir, keks: { file: path, isManaged: true }, dryRun: true };
  t.match(await rotateKek(managed), { rewrapped: 0, dropped: [] }, "all is sealed under the newest key");
  const { rewrapped, dropped } = await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });
  t.match(told, { rewrapped, dropped });
  t.ok(rewrapped >= 2);
});

t.test("two rotations at once do not drop each other's key", async (t) => {
  const hub = await startHub(t);
  const path = join(hub.dataDir, "kek.json");
  {
    using _other = lockKekFile(path);
    await t.rejects(rotateKek({ hooks: FEATURES, dataDir: hub.dataDir }), { code: "usage" });
  }
  t.ok(await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir }));
});

t.test("a rotation that was interrupted is completed by the next one", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const what = publication("1.0.0");
  await project.publish(what);
  const path = join(hub.dataDir, "kek.json");
  await writeKekFile(path, [...(await readKekFile(path)), newKek(Date.now())]);
  const second = publication("1.0.1");
  t.equal((await project.publish(second)).status, 201, "the hub takes the added key up");
  await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });
  t.equal((await readKekFile(path)).length, 1);
  const bearer = await project.session();
  for (const each of [what, second]) t.equal(await authorize(hub, project, bearer, each), each.dek.toString("base64"));
});

t.test("a hub whose KEK file is lost or broken does not start, and makes no new one", async (t) => {
  const hub = await startHub(t);
  const path = join(hub.dataDir, "kek.json");
  await hub.hub.close();
  const text = await readFile(path, "utf8");
  await rm(path);
  await t.rejects(createHub({ dataDir: hub.dataDir }), { code: "credential_unreadable" });
  await writeFile(path, text.slice(0, -20));
  await t.rejects(createHub({ dataDir: hub.dataDir }), { code: "credential_unreadable" });
  await writeFile(path, text);
  await (await createHub({ dataDir: hub.dataDir })).close();
});

t.test("a KEK that no file names is an error, not a wrong key", async (t) => {
  const path = join(t.testdir(), "kek.json");
  await writeKekFile(path, [newKek(0)]);
  const keyring = new Keyring(kekFileSource(path), Date.now);
  const foreign = seal(Buffer.alloc(32), newKek(0), ["x"]);
  await t.rejects(
    keyring.open(async () => foreign, ["x"]),
    /not among the keys/,
  );
  t.equal(await keyring.open(async () => undefined, ["x"]), undefined);
});
