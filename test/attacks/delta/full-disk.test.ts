// Only in test:all: a disk that fills.
import { randomBytes } from "node:crypto";
import { mkdirSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { deltaFleet } from "../../support/host/delta-fleet.ts";
import { mountMemory } from "../../support/host/loop-file-system.ts";

const MIB = 1024 * 1024;

t.test("a disk that fills while a tree is completed ends the run, and what runs stays", async (t) => {
  const mounted = mountMemory(t, 16 * MIB);
  if ("reason" in mounted) return t.comment(`not mounted here: ${mounted.reason}`);
  const { plant, publish, deployTo, release } = await deltaFleet(t);
  plant("plugins/demo/large", randomBytes(6 * MIB));
  await publish("1.0.0");
  await publish("1.1.0");
  const root = join(mounted.folder, "host");
  mkdirSync(root);
  await deployTo(root, "1.0.0");
  const before = release(root);
  const { bavail, bsize } = statfsSync(mounted.folder);
  const ballast = join(mounted.folder, "ballast");
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - 3 * MIB));

  const { result, find } = await deployTo(root, "1.1.0");
  t.ok(find("delta.chosen"));
  t.match(result, { outcome: "failed", error: { code: "disk_full" } });
  t.equal(find("delta.failed"), undefined, "the full artifact would need more");
  t.strictSame(release(root), before);

  writeFileSync(ballast, "");
  t.match((await deployTo(root, "1.1.0")).result, { outcome: "deployed" });
});
