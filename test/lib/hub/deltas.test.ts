import { randomBytes } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import {
  createProject,
  isErrorBody,
  newSigner,
  type ProjectAccess,
  type Publication,
  publication,
  type RunningHub,
  startHub,
} from "../../support/hub/harness.ts";

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const at = (project: ProjectAccess, version: string, what: string): string =>
  `/app/deploy/v1/projects/${project.id}/artifacts/${version}/${what}`;

/** The form of a delta between two publications of one signer. */
function deltaForm(base: Publication, delta: Publication, changes: Record<string, string> = {}): FormData {
  const form = new FormData();
  const fields = {
    base_version: base.version,
    base_content_sha256: base.contentSha256,
    dek: base64(delta.dek),
    signature: base64(delta.signature),
    signer_public_key: base64(delta.publicKey),
    ...changes,
  };
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("artifact", new Blob([new Uint8Array(delta.bytes)]), "artifact.xdeploy");
  return form;
}

async function twoVersions(t: Test, hub: RunningHub) {
  const project = await createProject(hub);
  const signer = newSigner();
  const [first, second, delta] = [
    publication("1.0.0", { signer }),
    publication("1.1.0", { signer }),
    publication("delta", { signer, size: 300 }),
  ];
  for (const version of [first, second]) t.equal((await project.publish(version)).status, 201);
  return { project, signer, first, second, delta };
}

t.test("a delta is listed with its version, downloaded and opened by a key of its own", async (t) => {
  const hub = await startHub(t);
  const { project, first, delta, signer } = await twoVersions(t, hub);
  const bearer = await project.session();
  const location = `/app/deploy/v1/projects/${project.id}/artifacts/1.1.0`;
  t.equal((await hub.call("GET", location, { bearer })).body.deltas, undefined, "no delta yet, no field");

  const form = () => deltaForm(first, delta);
  const sent = await hub.call("POST", at(project, "1.1.0", "deltas"), { key: project.key, form: form() });
  t.equal(sent.status, 201);
  t.match(sent.body, { version: "1.1.0", base_version: "1.0.0", size_bytes: 300 });
  const again = await hub.call("POST", at(project, "1.1.0", "deltas"), { key: project.key, form: form() });
  t.equal(again.status, 200, "the second time it is there already");
  const other = deltaForm(first, { ...publication("other", { signer, size: 300 }) });
  isErrorBody(
    t,
    await hub.call("POST", at(project, "1.1.0", "deltas"), { key: project.key, form: other }),
    409,
    "version_exists",
  );
  t.equal(again.body.delta_id, sent.body.delta_id);
  const entries = (await hub.call("GET", "/devkeys/audit?action=delta.publish")).body.items as unknown[];
  t.match(entries, [{ subject: project.id, facts: { version: "1.1.0", base_version: "1.0.0" } }]);
  t.equal(entries.length, 1, "what was there already is not a deed");

  const { deltas } = (await hub.call("GET", location, { bearer })).body;
  t.match(deltas, [{ base_version: "1.0.0", base_content_sha256: first.contentSha256, size_bytes: 300 }]);
  const bytes = await hub.call("GET", deltas[0].download_url as string, { key: null });
  t.ok(bytes.bytes.equals(delta.bytes));
  const authorize = () =>
    hub.call("POST", "/app/deploy/v1/deployments/authorize", {
      bearer,
      json: { deployment_credential: project.credential, artifact_signature: deltas[0].signature },
    });
  t.equal((await authorize()).body.dek, base64(delta.dek));

  await hub.call("DELETE", `/devkeys/api-keys/${project.keyId}`);
  t.not((await authorize()).status, 200, "revocation takes effect for deltas as for artifacts");
});

t.test("a delta of another signer, base, size or key is refused, and nothing is stored", async (t) => {
  const hub = await startHub(t);
  const { project, first, second, delta, signer } = await twoVersions(t, hub);
  const send = (form: FormData, version = "1.1.0", key: string | null = project.key) =>
    hub.call("POST", at(project, version, "deltas"), { key, form });
  isErrorBody(t, await send(deltaForm(first, publication("x", { size: 300 }))), 403, "forbidden");
  isErrorBody(t, await send(deltaForm(first, delta), "9.9.9"), 404, "not_found");
  isErrorBody(t, await send(deltaForm(first, delta, { base_version: "0.1.0" })), 404, "not_found");
  isErrorBody(t, await send(deltaForm(first, delta, { base_content_sha256: "0".repeat(64) })), 404, "not_found");
  isErrorBody(t, await send(deltaForm(first, delta, { dek: "%%%" })), 400, "bad_request");
  const flipped = { ...delta, bytes: Buffer.from(delta.bytes) };
  flipped.bytes[3]! ^= 1;
  isErrorBody(t, await send(deltaForm(first, flipped)), 400, "signature_rejected");
  const larger = publication("x", { signer, size: second.bytes.length + 1 });
  isErrorBody(t, await send(deltaForm(first, larger)), 413, "too_large");
  const other = await createProject(hub);
  isErrorBody(t, await send(deltaForm(first, delta), "1.1.0", other.key), 403, "forbidden");
  const bearer = await project.session();
  const location = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.1.0`, { bearer });
  t.equal(location.body.deltas, undefined);
});

t.test("an index comes back as it was stored, for keys that publish, once for each version", async (t) => {
  const hub = await startHub(t);
  const { project } = await twoVersions(t, hub);
  const index = randomBytes(5000);
  const form = (bytes: Buffer): FormData => {
    const data = new FormData();
    data.set("index", new Blob([new Uint8Array(bytes)]), "index.bin");
    return data;
  };
  const put = (bytes: Buffer) =>
    hub.call("POST", at(project, "1.0.0", "index"), { key: project.key, form: form(bytes) });
  t.equal((await put(index)).status, 201);
  t.equal((await put(index)).status, 200, "it is there already");
  isErrorBody(t, await put(randomBytes(10)), 409, "version_exists");
  const back = await hub.call("GET", at(project, "1.0.0", "index"), { key: project.key });
  t.ok(back.bytes.equals(index));
  isErrorBody(t, await hub.call("GET", at(project, "1.1.0", "index"), { key: project.key }), 404, "not_found");
  const stranger = await createProject(hub);
  isErrorBody(t, await hub.call("GET", at(project, "1.0.0", "index"), { key: stranger.key }), 403, "forbidden");
  const listed = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/indexes`, { key: project.key });
  t.match(listed.body.indexes, [{ version: "1.0.0", size_bytes: 5000, hosts: 0 }]);
});

t.test("the versions that most hosts run come first among the indexes", async (t) => {
  const hub = await startHub(t);
  const { project } = await twoVersions(t, hub);
  for (const version of ["1.0.0", "1.1.0"]) {
    const data = new FormData();
    data.set("index", new Blob([new Uint8Array(8)]), "index.bin");
    await hub.call("POST", at(project, version, "index"), { key: project.key, form: data });
  }
  const indexes = async () =>
    (await hub.call("GET", `/app/deploy/v1/projects/${project.id}/indexes`, { key: project.key })).body.indexes as {
      version: string;
      hosts: number;
    }[];
  t.strictSame(
    (await indexes()).map(({ version }) => version),
    ["1.1.0", "1.0.0"],
    "the newest first while nobody has reported",
  );
  const bearer = await project.session();
  for (const host of ["a", "b"]) {
    await hub.call("POST", "/app/deploy/v1/deployments/report", {
      bearer,
      json: {
        project_id: project.id,
        deployment_id: host,
        status: "success",
        version: "1.0.0",
        started_at: "",
        completed_at: "",
        plugins: [],
        host_id: host,
      },
    });
  }
  t.match(await indexes(), [
    { version: "1.0.0", hosts: 2 },
    { version: "1.1.0", hosts: 0 },
  ]);
});

t.test("a key-encryption key that is rotated opens deltas as before", async (t) => {
  const { rotateKek } = await import("../../../lib/hub/keys/rotate-kek.ts");
  const hub = await startHub(t);
  const { project, first, delta } = await twoVersions(t, hub);
  await hub.call("POST", at(project, "1.1.0", "deltas"), { key: project.key, form: deltaForm(first, delta) });
  const { dropped } = await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });
  t.equal(dropped.length, 1, "no row names the old one any more");
  const answer = await hub.call("POST", "/app/deploy/v1/deployments/authorize", {
    bearer: await project.session(),
    json: { deployment_credential: project.credential, artifact_signature: base64(delta.signature) },
  });
  t.equal(answer.body.dek, base64(delta.dek));
});

t.test("a delta or an index whose bytes are lost can be published again", async (t) => {
  const hub = await startHub(t);
  const { project, first, delta } = await twoVersions(t, hub);
  const publishDelta = () =>
    hub.call("POST", at(project, "1.1.0", "deltas"), { key: project.key, form: deltaForm(first, delta) });
  const bytes = randomBytes(100);
  const index = () => {
    const form = new FormData();
    form.set("index", new Blob([new Uint8Array(bytes)]), "index");
    return form;
  };
  const publishIndex = () => hub.call("POST", at(project, "1.1.0", "index"), { key: project.key, form: index() });
  const sent = await publishDelta();
  t.equal(sent.status, 201);
  t.equal((await publishIndex()).status, 201);
  t.equal((await publishIndex()).status, 200);

  const stored = join(hub.dataDir, "blobs");
  const kept = (await readdir(stored, { recursive: true })).filter((name) => /(dlt|idx)_[^/]*$/.test(name));
  t.equal(kept.length, 2);
  for (const name of kept) await rm(join(stored, name));
  const again = await publishDelta();
  t.equal(again.status, 201, "the new bytes take the place of the lost ones");
  t.not(again.body.delta_id, sent.body.delta_id);
  t.equal((await publishDelta()).status, 200);
  t.equal((await publishIndex()).status, 201);
  t.equal((await publishIndex()).status, 200);
});

t.test("lost bytes of a delta are not found, those of a version come back", async (t) => {
  const hub = await startHub(t);
  const { project, first, delta } = await twoVersions(t, hub);
  await hub.call("POST", at(project, "1.1.0", "deltas"), { key: project.key, form: deltaForm(first, delta) });
  const location = `/app/deploy/v1/projects/${project.id}/artifacts/1.1.0`;
  const { download_url, deltas } = (await hub.call("GET", location, { bearer: await project.session() })).body;
  const stored = join(hub.dataDir, "blobs");
  for (const name of await readdir(stored, { recursive: true }))
    if (/(dlt|art)_[^/]*$/.test(name)) await rm(join(stored, name));
  const [{ download_url: deltaUrl }] = deltas as [{ download_url: string }];
  const lost = await fetch(deltaUrl);
  t.equal(lost.status, 404);
  t.equal(lost.headers.get("retry-after"), null, "a host takes the full artifact at once");
  const whole = await fetch(String(download_url));
  t.equal(whole.status, 503);
  t.equal(whole.headers.get("retry-after"), "60");
});

t.test("the audit log has deltas and indexes", async (t) => {
  const hub = await startHub(t);
  const { project, first, delta } = await twoVersions(t, hub);
  await hub.call("POST", at(project, "1.1.0", "deltas"), { key: project.key, form: deltaForm(first, delta) });
  const form = new FormData();
  form.set("index", new Blob([new Uint8Array(randomBytes(100))]), "index");
  await hub.call("POST", at(project, "1.1.0", "index"), { key: project.key, form });
  const { items } = (await hub.call("GET", "/devkeys/audit")).body as { items: { action: string; facts: object }[] };
  const found = items
    .filter(({ action }) => /^(delta|index)\./.test(action))
    .map(({ action, facts }) => [action, facts]);
  t.match(found, [
    ["index.publish", { version: "1.1.0" }],
    ["delta.publish", { version: "1.1.0", base_version: "1.0.0" }],
  ]);
});
