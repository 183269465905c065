import t from "tap";
import { newSigner, publication, publishForm } from "../../support/hub/harness.ts";
import { startStaging } from "../../support/hub/staging.ts";

t.test("nobody but its stager and approvers gets a staged version by its name, its signature or a delta", async (t) => {
  const { hub, project, stager, approver, host, newKey, session } = await startStaging(t);
  const signer = newSigner();
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  const [open, secret, next] = ["1.0.0", "1.1.0", "1.2.0"].map((version) => publication(version, { signer }));
  const path = `/app/deploy/v1/projects/${project}`;
  const upload = (what: typeof open, key: string, stage?: string) =>
    hub.call("POST", `${path}/publish`, { key, form: publishForm(what!, { changes: { stage } }) });
  await upload(open, approver.key);
  await upload(secret, stager.key, "true");
  const deltaForm = (base: typeof open, bytes: typeof open): FormData => {
    const form = new FormData();
    const fields = {
      ...{ base_version: base!.version, base_content_sha256: base!.contentSha256, dek: base64(bytes!.dek) },
      ...{ signature: base64(bytes!.signature), signer_public_key: base64(bytes!.publicKey) },
    };
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set("artifact", new Blob([new Uint8Array(bytes!.bytes)]), "artifact.xdeploy");
    return form;
  };
  const delta = publication("delta", { size: 100, signer });
  const added = { key: stager.key, form: deltaForm(open, delta) };
  t.equal((await hub.call("POST", `${path}/artifacts/1.1.0/deltas`, added)).status, 201);

  // Keys of the owner without the right to publish, and a host's.
  const readers = [host, await newKey(["deploy", "report", "read", "projects", "keys"], { project_id: project })];
  for (const { key, credential } of readers) {
    const bearer = await session(key);
    const missing = await hub.call("GET", `${path}/artifacts/9.9.9`, { bearer });
    for (const headers of [{}, { "x-sealift-mirrored": "1" }, { "x-sealift-running": "1.1.0" }]) {
      const located = await hub.call("GET", `${path}/artifacts/1.1.0`, { bearer, headers });
      t.equal(located.status, 404);
      t.same(located.body, missing.body, "as one that is not there");
    }
    for (const signature of [secret!.signature, delta.signature]) {
      const json = { deployment_credential: credential, artifact_signature: base64(signature) };
      const dek = await hub.call("POST", `${path.replace(/\/projects.*/, "")}/deployments/authorize`, { bearer, json });
      t.equal(dek.status, 404, dek.bytes.toString());
    }
    const latest = await hub.call("GET", `${path}/versions/latest`, {
      bearer,
      headers: { "x-sealift-running": "1.1.0" },
    });
    t.match(latest.body, { version: "1.0.0" }, "nor by saying that it runs it");
    const listed = await hub.call("GET", `/devkeys/projects/${project}/versions`, { key });
    t.notMatch(listed.bytes.toString(), "1.1.0");
    t.equal((await hub.call("GET", "/devkeys/staging", { key })).status, 403);
  }
  const other = await newKey(["publish", "deploy", "read"], { owner: "other" });
  t.same((await hub.call("GET", "/devkeys/staging", { key: other.key })).body.items, []);
  t.equal((await hub.call("GET", `/devkeys/staging/${project}/1.1.0`, { key: other.key })).status, 404);

  // A delta of another version would name it to every host.
  await upload(next, approver.key);
  const leads = { key: approver.key, form: deltaForm(secret, publication("delta", { size: 100, signer })) };
  t.equal((await hub.call("POST", `${path}/artifacts/1.2.0/deltas`, leads)).status, 404);
  const advice = { message: "take another", replaced_by: "1.1.0" };
  const deprecation = `/devkeys/projects/${project}/versions/1.0.0/deprecation`;
  t.equal(
    (await hub.call("POST", deprecation, { key: approver.key, json: advice })).status,
    422,
    "nor would an advice",
  );

  const seen = await newKey(["publish", "deploy", "read"], { project_id: project });
  const bearer = await session(seen.key);
  const located = await hub.call("GET", `${path}/artifacts/1.1.0`, { bearer });
  t.match(located, { status: 200, body: { deltas: [{ base_version: "1.0.0" }] } }, "who may approve looks at it");
  const json = { deployment_credential: seen.credential, artifact_signature: base64(secret!.signature) };
  const dek = await hub.call("POST", "/app/deploy/v1/deployments/authorize", { bearer, json });
  t.match(dek, { status: 200, body: { dek: base64(secret!.dek) } });
});

t.test("a plugin's staged version is neither installed nor listed, nor in the detail record", async (t) => {
  const { hub, stager, approver, host, newKey, uploadPlugin } = await startStaging(t);
  await uploadPlugin(approver.key, "1.0.0");
  const path = "/app/marketplace/plugins/tide";
  const before = await hub.call("GET", path, { key: null });
  await uploadPlugin(stager.key, "1.1.0", { stage: "true" });
  const other = await newKey(["publish", "deploy", "read"], { owner: "other" });
  const bound = await newKey(["deploy", "read", "projects"]);
  for (const { key } of [host, other, bound])
    for (const method of ["GET", "HEAD"]) {
      const headers = { "x-sealift-mirrored": "1" };
      t.equal((await hub.call(method, `${path}/install?version=1.1.0`, { key, headers })).status, 404);
    }
  for (const key of [host.key, approver.key]) {
    t.notMatch((await hub.call("GET", `${path}/versions`, { key })).bytes.toString(), "1.1.0");
    t.notMatch((await hub.call("GET", path, { key })).bytes.toString(), "1.1.0");
  }
  const after = await hub.call("GET", path, { key: null });
  t.equal(after.bytes.toString(), before.bytes.toString());
  t.equal(after.headers.get("etag"), before.headers.get("etag"), "its ETag tells nothing either");
});
