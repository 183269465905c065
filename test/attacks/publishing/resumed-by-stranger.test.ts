// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** The id of an upload that was cut has come to somebody else, perhaps from a log. */
import t from "tap";
import { isErrorBody, publication } from "../../support/hub/harness.ts";
import {
  askOffset,
  cutUpload,
  namedForm,
  newUploadId,
  offsetOf,
  restForm,
  sendForm,
} from "../../support/hub/resumed.ts";
import { startStaging } from "../../support/hub/staging.ts";

const MIB = 1024 * 1024;

t.test("an upload that was cut is its owner's and its project's alone, whatever somebody knows", async (t) => {
  const { hub, project, newKey } = await startStaging(t);
  const base = `/app/deploy/v1/projects/${project}`;
  const { key } = await newKey(["publish"], { project_id: project });
  const strangers = await newKey(["publish", "projects"], { owner: "stranger" });
  const other = (
    await hub.call("POST", "/devkeys/projects", { key: strangers.key, json: { name: "X", kind: "project" } })
  ).body.id as string;
  const second = (await hub.call("POST", "/devkeys/projects", { json: { name: "Y", kind: "project" } })).body
    .id as string;
  const what = publication("1.0.0", { size: 3 * MIB });
  const id = newUploadId();
  await cutUpload(hub, { base, key }, namedForm(what, id), 2 * MIB);
  const kept = await offsetOf(hub, { base, key }, id);
  t.ok(kept > MIB);
  const rest = () => restForm(what, id, kept);

  const elsewhere = { base: `/app/deploy/v1/projects/${other}`, key: strangers.key };
  isErrorBody(t, await askOffset(hub, elsewhere, id), 404, "not_found");
  isErrorBody(t, await sendForm(hub, elsewhere, rest()), 404, "not_found");
  for (const place of [
    { base, key: strangers.key },
    { base, key: (await newKey(["deploy", "report", "read"], { project_id: project })).key },
  ]) {
    isErrorBody(t, await askOffset(hub, place, id), 403, "forbidden");
    isErrorBody(t, await sendForm(hub, place, rest()), 403, "forbidden");
  }
  const inSecond = { base: `/app/deploy/v1/projects/${second}`, key: hub.adminKey };
  isErrorBody(t, await askOffset(hub, inSecond, id), 404, "not_found");
  isErrorBody(t, await sendForm(hub, inSecond, rest()), 404, "not_found");
  for (const guess of ["", "x", "..%2f..%2fhub.sqlite", "%00", "A".repeat(65)])
    t.not((await askOffset(hub, { base, key }, guess)).status, 200, guess);

  t.equal(await offsetOf(hub, { base, key }, id), kept, "nobody has moved it");
  t.equal((await sendForm(hub, { base, key }, rest())).status, 201);
});

t.test("an upload does not go to the next owner with its project", async (t) => {
  const { hub, project, newKey } = await startStaging(t);
  const base = `/app/deploy/v1/projects/${project}`;
  const former = await newKey(["publish"], { owner: "former" });
  const next = await newKey(["publish"], { owner: "next" });
  const transfer = (owner: string) => hub.call("POST", `/devkeys/projects/${project}/transfer`, { json: { owner } });
  await transfer("former");
  const what = publication("1.0.0", { size: 3 * MIB });
  const id = newUploadId();
  await cutUpload(hub, { base, key: former.key }, namedForm(what, id), 2 * MIB);
  const kept = await offsetOf(hub, { base, key: former.key }, id);
  await transfer("next");
  isErrorBody(t, await sendForm(hub, { base, key: former.key }, restForm(what, id, kept)), 403, "forbidden");
  isErrorBody(t, await askOffset(hub, { base, key: next.key }, id), 404, "not_found");
  isErrorBody(t, await sendForm(hub, { base, key: next.key }, restForm(what, id, kept)), 404, "not_found");
});
