// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** Bytes before the rest of an upload that its publisher did not send; and a rest that would be taken for the whole. */
import t from "tap";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import { createProject, isErrorBody, publication, sha256, startHub, storedFiles } from "../../support/hub/harness.ts";
import {
  askOffset,
  cutUpload,
  namedForm,
  newUploadId,
  offsetOf,
  placeOf,
  restForm,
  sendForm,
} from "../../support/hub/resumed.ts";

const MIB = 1024 * 1024;

t.test("bytes that another key of the owner has put before an upload are found, and dropped", async (t) => {
  const hub = await startHub(t);
  const place = placeOf(await createProject(hub));
  const what = publication("1.0.0", { size: 3 * MIB });
  const id = newUploadId();
  await cutUpload(hub, { ...place, key: place.key }, namedForm({ ...what, bytes: Buffer.alloc(3 * MIB) }, id), 2 * MIB);
  const kept = await offsetOf(hub, place, id);
  isErrorBody(t, await sendForm(hub, place, restForm(what, id, kept)), 409, "upload_differs");
  t.equal((await askOffset(hub, place, id)).status, 404);
  t.strictSame(await storedFiles(hub), []);
  // Whoever knows those bytes, too, still lacks their signature.
  await cutUpload(hub, place, namedForm({ ...what, bytes: Buffer.alloc(3 * MIB) }, id), 2 * MIB);
  const again = await offsetOf(hub, place, id);
  const forged = restForm(what, id, again, sha256(Buffer.alloc(again)));
  isErrorBody(t, await sendForm(hub, place, forged), 400, "signature_rejected");
  t.strictSame(await storedFiles(hub), []);
});

t.test("the rest of a file is no file: a hub that does not know of uploads in pieces refuses it", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const archive = zipOf({ "plugin.yaml": "name: tide\nversion: 1.0.0\n", "main.js": `// ${"x".repeat(2 * MIB)}\n` });
  for (const at of [1, 30, 100, MIB]) {
    const form = new FormData();
    form.set("version", "1.0.0");
    form.set("signature", hmacOf(archive, "a secret of its developer"));
    form.set("archive", new Blob([new Uint8Array(archive.subarray(at))]), "archive.zip");
    const { status } = await hub.call("POST", "/app/marketplace/plugins/tide/versions", { form });
    t.equal(status, 422, `a ZIP without its first ${at} bytes`);
  }
  // A part of another name counts as nothing on a route that takes no pieces, as on every route of older hubs.
  const form = new FormData();
  form.set("upload_id", newUploadId());
  form.set("rest", new Blob([new Uint8Array(1000)]), "rest");
  const { status, body } = await hub.call("POST", `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0/index`, {
    key: project.key,
    form,
  });
  t.ok(status === 404 || status === 422, JSON.stringify(body));
});
