// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** An owner begins uploads and cuts them, again and again, to fill the hub's disk. */
import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { setQuota } from "../../../lib/hub/features/quotas/by-hand.ts";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import {
  askOffset,
  beginUpload,
  cutUpload,
  incomingFiles,
  namedForm,
  newUploadId,
  offsetOf,
  placeOf,
} from "../../support/hub/resumed.ts";
import { until } from "../../support/until.ts";

const MIB = 1024 * 1024;

t.test("of an owner's uploads eight are kept, and no more bytes than one may have", async (t) => {
  const hub = await startHub(t, { maxArtifactBytes: 6 * MIB });
  const place = placeOf(await createProject(hub));
  const cut = async (size: number, bytes: number): Promise<string> => {
    const id = newUploadId();
    await cutUpload(hub, place, namedForm(publication("1.0.0", { size }), id), bytes);
    return id;
  };
  const ids = [];
  for (let index = 0; index < 10; index++) ids.push(await cut(MIB, MIB / 2));
  const kept = [];
  for (const id of ids) kept.push((await offsetOf(hub, place, id)) > 0);
  t.strictSame(kept, [false, false, ...Array.from({ length: 8 }, () => true)], "the eldest two are gone");
  await cut(5 * MIB, 4.5 * MIB);
  await cut(5 * MIB, 4.5 * MIB);
  const sum = Object.values(await incomingFiles(hub)).reduce((total, bytes) => total + bytes, 0);
  t.ok(sum <= 6 * MIB, `${sum}`);
});

t.test("nothing is kept beyond the quota of the project or the owner", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const place = placeOf(project);
  for (const subject of [`project/${project.id}`, "owner/admin"] as const) {
    const set = (max_bytes: number | null) =>
      setQuota({ hooks: FEATURES, dataDir: hub.dataDir }, { subject, max_bytes, max_versions: null });
    await set(MIB);
    const id = newUploadId();
    const form = namedForm(publication("1.0.0", { size: 3 * MIB }), id);
    const { cut } = await beginUpload(hub, { key: place.key, path: `${place.base}/publish` }, form, 2 * MIB);
    await until(async () => Object.keys(await incomingFiles(hub)).length === 1);
    cut();
    await until(async () => Object.keys(await incomingFiles(hub)).length === 0);
    t.equal((await askOffset(hub, place, id)).status, 404, subject);
    await set(null);
  }
});
