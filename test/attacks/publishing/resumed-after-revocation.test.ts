// Holds: whether a request may still do what it might (lib/hub/access/still-allowed.ts)
/** The key of an upload is ended before its connection is cut, or between two requests of it. */
import t from "tap";
import { isErrorBody, publication, storedFiles } from "../../support/hub/harness.ts";
import {
  askOffset,
  beginUpload,
  cutUpload,
  incomingFiles,
  namedForm,
  newUploadId,
  offsetOf,
  restForm,
  sendForm,
} from "../../support/hub/resumed.ts";
import { startStaging } from "../../support/hub/staging.ts";
import { until } from "../../support/until.ts";

const MIB = 1024 * 1024;

t.test("a key that was ended goes on with nothing, and leaves nothing", async (t) => {
  const { hub, project, newKey } = await startStaging(t);
  const base = `/app/deploy/v1/projects/${project}`;
  const before = (await storedFiles(hub)).length;
  const what = publication("1.0.0", { size: 3 * MIB });

  const between = await newKey(["publish"]);
  const id = newUploadId();
  const place = { base, key: between.key };
  await cutUpload(hub, place, namedForm(what, id), 2 * MIB);
  const kept = await offsetOf(hub, place, id);
  t.ok(kept > MIB);
  await hub.call("DELETE", `/devkeys/api-keys/${between.id}`);
  isErrorBody(t, await askOffset(hub, place, id), 401, "key_rejected");
  isErrorBody(t, await sendForm(hub, place, restForm(what, id, kept)), 401, "key_rejected");
  const files = Object.keys(await incomingFiles(hub)).length;

  const during = await newKey(["publish"]);
  const other = newUploadId();
  const path = `${base}/publish`;
  const { cut } = await beginUpload(hub, { key: during.key, path }, namedForm(what, other), 2 * MIB);
  await until(async () => Object.keys(await incomingFiles(hub)).length === files + 1);
  await hub.call("DELETE", `/devkeys/api-keys/${during.id}`);
  cut();
  await until(async () => Object.keys(await incomingFiles(hub)).length === files);

  const colleague = { base, key: (await newKey(["publish"])).key };
  t.equal((await askOffset(hub, colleague, other)).status, 404, "nothing was kept for a key that was ended");
  t.equal(await offsetOf(hub, colleague, id), kept, "another key of the owner goes on with what was kept before");
  t.equal((await sendForm(hub, colleague, restForm(what, id, kept))).status, 201);
  t.equal((await storedFiles(hub)).length, before + 1);
});
