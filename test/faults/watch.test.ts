// Only in test:all: a watch without a disk, descriptors and the right time, from start to end.
/** A watch that lacks a disk, descriptors or the right time: it waits, says so, and goes on when it can. */
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { cannotStarve, DAY_MS, movedClock, readOnlyFolder, smallDisk, startStarved } from "../support/host/starved.ts";
import { publishedProject, watchYaml } from "../support/hub/published.ts";
import { startHub } from "../support/hub/real-hub.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test(
  "a watch outlives a full disk, one that can only be read, few descriptors, and a clock that jumps by a day or a year",
  { skip: cannotStarve },
  async (t) => {
    const folder = temporaryFolder(t);
    const hub = await startHub(t, { rateLimits: false });
    const target = await publishedProject(hub, "shop", folder);
    await target.publish("1.0.0");
    const disk = smallDisk(t, 8 * 1024 * 1024);
    const root = join(disk.folder, "root");
    mkdirSync(root);
    const options = { target: target.name, project_root: root, ...target.options };
    writeFileSync(join(folder, "watch.yaml"), watchYaml({ hub_url: hub.url, interval: 1, host_id: "host" }, [options]));
    const clock = movedClock(t);
    const watch = startStarved(t, "watch", ["--config", "watch.yaml", "--json"], { cwd: folder, clock });
    const deployed = (version: string) =>
      watch.said(new RegExp(`"event":"deploy.done"[^\\n]*"outcome":"deployed"[^\\n]*"version":"${version}"`));
    const running = () => readFile(join(root, target.folder, "version"), "utf8");
    await deployed("1.0.0");

    disk.fill();
    await target.publish("1.1.0");
    await watch.said(/"code":"disk_full"/);
    t.equal(await running(), "1.0.0", "the old release stays");
    disk.free();
    await deployed("1.1.0");
    {
      using _readOnly = readOnlyFolder(root);
      await target.publish("1.1.1");
      await watch.said(/"code":"root_unusable"/);
      t.equal(await running(), "1.1.0", "the old release stays");
    }
    await deployed("1.1.1");
    {
      using _starving = watch.withoutDescriptors();
      await target.publish("1.1.2");
      await watch.said(/may open no more files|EMFILE/);
      t.equal(await running(), "1.1.1", "the old release stays");
    }
    await deployed("1.1.2");

    for (const [version, offset] of [
      ["1.2.0", DAY_MS],
      ["1.3.0", -DAY_MS],
      ["1.4.0", 365 * DAY_MS],
      ["1.5.0", -365 * DAY_MS],
      ["1.6.0", 0],
    ] as const) {
      clock.set(offset);
      await target.publish(version);
      await deployed(version);
      t.equal(await running(), version, `the clock is off by ${offset} ms`);
    }
    t.equal(await watch.stop(), 0);
  },
);
