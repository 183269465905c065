// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** More bytes than one upload may have, in several requests; and bytes that came under another limit. */
import t from "tap";
import {
  createProject,
  isErrorBody,
  newSigner,
  publication,
  sha256,
  startHub,
  storedFiles,
} from "../../support/hub/harness.ts";
import { cutUpload, namedForm, newUploadId, offsetOf, placeOf, restForm, sendForm } from "../../support/hub/resumed.ts";

const MIB = 1024 * 1024;

t.test("the limit of an upload counts the bytes of all its requests", async (t) => {
  const hub = await startHub(t, { maxArtifactBytes: 3 * MIB });
  const place = placeOf(await createProject(hub));
  const what = publication("1.0.0", { size: 3.9 * MIB });
  const id = newUploadId();
  await cutUpload(hub, place, namedForm(what, id), 2 * MIB);
  const kept = await offsetOf(hub, place, id);
  t.ok(kept > MIB);
  isErrorBody(t, await sendForm(hub, place, restForm(what, id, kept)), 413, "too_large");
  t.strictSame(await storedFiles(hub), [], "nothing is kept of what is too large");
});

t.test("bytes that were kept of an artifact are too many for a delta", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const place = placeOf(project);
  const signer = newSigner();
  const base = publication("1.0.0", { signer });
  const version = publication("1.1.0", { signer });
  for (const each of [base, version]) t.equal((await project.publish(each)).status, 201);
  const what = publication("1.2.0", { size: 3 * MIB, signer });
  const id = newUploadId();
  await cutUpload(hub, place, namedForm(what, id), 2 * MIB);
  const kept = await offsetOf(hub, place, id);
  const prefix = what.bytes.subarray(0, kept);
  const form = new FormData();
  for (const [name, value] of Object.entries({
    ...{ upload_id: id, upload_offset: String(kept), upload_sha256: sha256(prefix) },
    ...{ base_version: "1.0.0", base_content_sha256: base.contentSha256, dek: what.dek.toString("base64") },
    signature: signer.sign(prefix).toString("base64"),
    signer_public_key: signer.publicKey.toString("base64"),
  }))
    form.set(name, value);
  form.set("rest", new Blob([]), "rest");
  const route = "artifacts/1.1.0/deltas";
  isErrorBody(t, await sendForm(hub, { ...place, route }, form), 413, "too_large");
});
