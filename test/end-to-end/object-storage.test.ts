// Only in test:all: two hubs, and servers around them.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { installedFiles, World } from "../support/host/world.ts";
import { startS3 } from "../support/hub/s3-server.ts";

t.test("a hub that keeps its blobs in a bucket, through the real programs", async (t) => {
  const objects = t.testdir({});
  const server = await startS3(t, objects);
  await using world = await World.make(["--blob-url", server.url()], server.environment);
  await world.publish("1.0.0");
  const root = world.path("host");
  const deployed = await world.programs.run<{ outcome: string }>(
    "deploy-project",
    world.deployArgs(root),
    world.hostSecrets(),
  );
  t.equal(deployed.outcome, "deployed");
  t.ok("plugins/tide-table/src/main.js" in (await installedFiles(root)));
  t.strictSame(await readdir(join(world.folder, "hub", "incoming")), []);
  t.notOk((await readdir(join(world.folder, "hub"))).includes("blobs"));
});
