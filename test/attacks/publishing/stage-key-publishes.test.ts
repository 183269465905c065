import t from "tap";
import { newSigner, publication, publishForm } from "../../support/hub/harness.ts";
import { startStaging } from "../../support/hub/staging.ts";

t.test("a key that may only stage publishes nothing, whatever it sends", async (t) => {
  const { hub, project, plugin, stager, approver, upload, uploadPlugin, approve } = await startStaging(t);
  await upload(approver.key, "1.0.0");
  const { key } = stager;
  t.match(await upload(key, "1.1.0"), { status: 403, body: { detail: /publish with --stage/ } });
  t.equal((await upload(key, "1.1.0", "false")).status, 403);
  t.equal((await upload(key, "1.1.0", "TRUE")).status, 422);
  const path = `/app/deploy/v1/projects/${project}/publish`;
  const late = publishForm(publication("1.1.0"), { fileFirst: true });
  t.equal((await hub.call("POST", path, { key, form: late })).status, 403, "nor with the file first");
  t.equal((await uploadPlugin(key, "1.0.0")).status, 403);
  const hidden = { stage: "true", visibility: "private" };
  t.equal((await uploadPlugin(key, "1.0.0", hidden)).status, 422, "nor does it hide a plugin");
  t.equal((await upload(key, "1.1.0", "true")).status, 201);

  const at = `/devkeys/projects/${project}`;
  for (const [method, rest, json] of [
    ["POST", "/versions/1.0.0/yank", {}],
    ["POST", "/versions/1.1.0/release", {}],
    ["DELETE", "/versions/1.0.0?reason=no", undefined],
    ["PUT", "/approval", { required: false }],
    ["POST", "/rollouts", { version: "1.1.0" }],
  ] as const)
    t.equal((await hub.call(method, at + rest, { key, ...(json && { json }) })).status, 403, `${method} ${rest}`);
  const made = await hub.call("POST", "/devkeys/api-keys", { key, json: { name: "more", scopes: ["publish"] } });
  t.equal(made.status, 403);
  t.equal(
    (await hub.call("POST", `/devkeys/staging/${plugin}/1.0.0/reject`, { key, json: { reason: "no" } })).status,
    404,
  );

  const artifacts = `/app/deploy/v1/projects/${project}/artifacts`;
  const index = (): FormData => {
    const form = new FormData();
    form.set("index", new Blob([new Uint8Array(50)]), "index.bin");
    return form;
  };
  t.equal((await hub.call("POST", `${artifacts}/1.0.0/index`, { key, form: index() })).status, 403, "of another one");
  t.equal((await hub.call("POST", `${artifacts}/1.1.0/index`, { key, form: index() })).status, 201, "of its own");
  await approve(approver.key, "1.1.0");
  const delta = publication("delta", { signer: newSigner() });
  const form = new FormData();
  const fields = { base_version: "1.0.0", base_content_sha256: delta.contentSha256, dek: delta.dek.toString("base64") };
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("artifact", new Blob([new Uint8Array(delta.bytes)]), "artifact.xdeploy");
  t.equal((await hub.call("POST", `${artifacts}/1.1.0/deltas`, { key, form })).status, 403, "nor once it is approved");
});
