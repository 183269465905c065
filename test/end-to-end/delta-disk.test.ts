// Only in test:all: real file systems, which root mounts.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { statfsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { inspectTarget } from "../../lib/agent/target-status.ts";
import { deltaFleet } from "../support/host/delta-fleet.ts";
import { mountLoop } from "../support/host/loop-file-system.ts";
import { layoutOf } from "../support/host/project-root.ts";

const FILES = 300;
const FILE_BYTES = 60_000;

for (const type of ["xfs", "btrfs"] as const)
  t.test(`${type}: three releases that differ by one per cent take little more disk than one`, async (t) => {
    const mounted = mountLoop(t, type);
    if ("reason" in mounted) return t.comment(`not mounted here: ${mounted.reason}`);
    const { plant, publish, deployTo, project, release } = await deltaFleet(t);
    const used = (): number => {
      execFileSync("sync", ["-f", mounted.folder]);
      const { blocks, bfree, bsize } = statfsSync(mounted.folder);
      return (blocks - bfree) * bsize;
    };
    const root = join(mounted.folder, "host");
    const empty = used();
    for (let file = 0; file < FILES; file++) plant(`plugins/demo/files/${file}`, randomBytes(FILE_BYTES));
    const large = randomBytes(400_000);
    const edited = Buffer.from(large).fill("edited", 100_000, 100_020);
    plant("plugins/demo/files/large", large);
    await publish("1.0.0");
    await deployTo(root, "1.0.0");
    const one = used() - empty;
    for (const version of ["1.1.0", "1.2.0"]) {
      for (const file of [7, 70]) plant(`plugins/demo/files/${file}`, randomBytes(FILE_BYTES));
      plant("plugins/demo/files/large", version === "1.1.0" ? edited : edited.subarray(0, -50_000));
      await publish(version);
      const { find } = await deployTo(root, version);
      t.ok(find("delta.chosen"));
      t.notOk(find("delta.failed"));
    }
    const three = used() - empty;
    const full = join(mounted.folder, "full");
    await deployTo(full, "1.2.0", { delta: false });
    t.strictSame(release(root), release(full));
    t.ok(three <= one * 1.1, `${three} bytes of the file system are used, ${one} by one release`);

    const { disk, releases } = await inspectTarget(layoutOf(root), `project-${project.id}`);
    const sum = releases.reduce((total, { bytes }) => total + bytes, 0);
    t.equal(releases.length, 3);
    t.equal(disk.sharing, "counted");
    t.ok(disk.bytes <= (sum / 3) * 1.1, `status tells ${disk.bytes} of ${sum}`);
  });
