// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** Several requests go on with one upload at the same time. */
import t from "tap";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import {
  cutUpload,
  incomingFiles,
  namedForm,
  newUploadId,
  offsetOf,
  placeOf,
  restForm,
  sendForm,
} from "../../support/hub/resumed.ts";

const MIB = 1024 * 1024;

t.test("of requests that go on with an upload at once one wins, and its bytes are whole", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const place = placeOf(project);
  for (let round = 0; round < 3; round++) {
    const what = publication(`1.${round}.0`, { size: 3 * MIB });
    const id = newUploadId();
    await cutUpload(hub, place, namedForm(what, id), 2 * MIB);
    const kept = await offsetOf(hub, place, id);
    const asked = Array.from({ length: 6 }, () => sendForm(hub, place, restForm(what, id, kept)));
    const answers = await Promise.all(asked);
    t.equal(answers.filter(({ status }) => status === 201).length, 1);
    for (const { status, body } of answers)
      if (status !== 201) t.match(body, { code: /^(?:upload_busy|not_found)$/, detail: /\w/ });
    const url = (
      await hub.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.${round}.0`, {
        bearer: await project.session(),
      })
    ).body.download_url as string;
    t.ok((await hub.call("GET", url, { key: null })).bytes.equals(what.bytes));
    t.strictSame(await incomingFiles(hub), {}, "nothing is left of the others");
  }
});
