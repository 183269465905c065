// Holds: what is kept of an upload that was cut, and who goes on with it (lib/hub/publications/kept-uploads.ts)
/** Bytes kept for one project must not take the place of another project's quota. */
import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { setQuota } from "../../../lib/hub/features/quotas/by-hand.ts";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import {
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

t.test("bytes kept of a large project do not count for the quota of a small one", async (t) => {
  const hub = await startHub(t);
  const large = placeOf(await createProject(hub));
  const small = await createProject(hub);
  const quota = { subject: `project/${small.id}`, max_bytes: 2 * MIB, max_versions: null } as const;
  await setQuota({ hooks: FEATURES, dataDir: hub.dataDir }, quota);
  await cutUpload(hub, large, namedForm(publication("1.0.0", { size: 4 * MIB }), newUploadId()), 3 * MIB);
  const id = newUploadId();
  const before = Object.keys(await incomingFiles(hub)).length;
  const form = namedForm(publication("1.0.0", { size: MIB }), id);
  const path = `${placeOf(small).base}/publish`;
  const { cut } = await beginUpload(hub, { key: small.key, path }, form, MIB / 2);
  await until(async () => Object.keys(await incomingFiles(hub)).length === before + 1);
  cut();
  t.ok((await offsetOf(hub, placeOf(small), id)) > 0, "half a MiB of two is kept");
});
