// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** Bytes kept for one project must not take another project's place on a disk that is nearly full. */
import t from "tap";
import { mountMemory } from "../../support/host/loop-file-system.ts";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { cutUpload, namedForm, newUploadId, offsetOf, placeOf } from "../../support/hub/resumed.ts";

const MIB = 1024 * 1024;
const mounted = mountMemory(t, 40 * MIB);
const skip = "reason" in mounted ? mounted.reason : false;

t.test("a publication takes the room of what is only kept", { skip }, async (t) => {
  const { folder } = mounted as { folder: string };
  const hub = await startHub(t, { dataDir: `${folder}/hub` });
  const one = placeOf(await createProject(hub));
  const other = await createProject(hub);
  const id = newUploadId();
  await cutUpload(hub, one, namedForm(publication("1.0.0", { size: 24 * MIB }), id), 20 * MIB);
  t.ok((await offsetOf(hub, one, id)) > 19 * MIB, "half of the disk is kept");
  const { status, body } = await other.publish(publication("1.0.0", { size: 22 * MIB }));
  t.equal(status, 201, JSON.stringify(body));
});
