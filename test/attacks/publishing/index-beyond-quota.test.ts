import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { setQuota } from "../../../lib/hub/features/quotas/by-hand.ts";
import { createProject, isErrorBody, publication, startHub, storedFiles } from "../../support/hub/harness.ts";

t.test("a quota admits no index that goes beyond it", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  t.equal((await project.publish(publication("1.0.0", { size: 1000 }))).status, 201);
  const quota = { subject: `project/${project.id}` as const, max_bytes: 2000, max_versions: null };
  await setQuota({ hooks: FEATURES, dataDir: hub.dataDir }, quota);
  const store = (size: number) => {
    const form = new FormData();
    form.set("index", new Blob([new Uint8Array(size)]), "index");
    const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0/index`;
    return hub.call("POST", path, { key: project.key, form });
  };
  isErrorBody(t, await store(1001), 413, "quota_exceeded");
  t.equal((await storedFiles(hub)).length, 1, "nothing of it stays");
  t.equal((await store(1000)).status, 201);
  const { body } = await hub.call("GET", "/devkeys/quotas", { key: project.key });
  t.match(body.items[0], { max_bytes: 2000, usage: { bytes: 2000 } });
  t.equal((await store(1000)).status, 200, "the same again needs no room");
});
