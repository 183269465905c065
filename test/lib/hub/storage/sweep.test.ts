import { mkdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { recordId } from "../../../../lib/hub/base/identity.ts";
import { createProject, isErrorBody, publication, startHub, storedFiles } from "../../../support/hub/harness.ts";

const DAY_MS = 86_400_000;

/** Puts a blob without a record into the hub's folder, as a crash before the commit does. */
async function orphan(dataDir: string, at: number): Promise<string> {
  const id = recordId("art", at);
  const folder = join(dataDir, "blobs", "00");
  const name = `${id.slice(0, -2)}00`;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), "left by a crash");
  await utimes(join(folder, name), at / 1000, at / 1000);
  return name;
}

t.test("more blobs without a record than crashes leave stay where they are, and readiness tells it", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  await hub.hub.upkeep.run();
  for (let i = 0; i < 30; i++) await orphan(hub.dataDir, Date.now() - DAY_MS - i);
  const before = (await storedFiles(hub)).toSorted();
  await hub.hub.upkeep.run();
  t.match(hub.hub.upkeep.lastSweep, { known: 1, trashed: 0, unexplained: 30 });
  t.strictSame((await storedFiles(hub)).toSorted(), before);
  t.match((await hub.call("GET", "/readyz?verbose")).body, { unexplained_blobs: 30 });
});

t.test("a version whose bytes are gone is told, is refused with 503, and can be published again", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const what = publication("1.0.0");
  const { artifact_id: id } = (await project.publish(what)).body as { artifact_id: string };
  const bearer = await project.session();
  const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
  const download = async () => {
    const { body } = await hub.call("GET", path, { bearer });
    return hub.call("GET", (body as { download_url: string }).download_url, { key: null });
  };
  await rm(join(hub.dataDir, "blobs", id.slice(-2), id));
  isErrorBody(t, await download(), 503, "hub_unavailable");

  isErrorBody(
    t,
    await project.publish(publication("1.0.0"), { changes: { content_sha256: "0".repeat(64) } }),
    409,
    "version_exists",
  );
  // The same tree, sealed anew: other bytes under another key.
  const again = publication("1.0.0");
  t.equal((await project.publish(again)).status, 201);
  t.ok((await download()).bytes.equals(again.bytes));
  const json = { deployment_credential: project.credential, artifact_signature: again.signature.toString("base64") };
  const authorized = await hub.call("POST", "/app/deploy/v1/deployments/authorize", { bearer, json });
  t.equal(authorized.body.dek, again.dek.toString("base64"));
});
