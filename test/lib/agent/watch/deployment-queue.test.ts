import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { DeploymentQueue, realRoot } from "../../../../lib/agent/watch/deployment-queue.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

/** Counts what runs at once, in all and for each name. */
function counting() {
  const active = new Map<string, number>();
  const most = new Map<string, number>();
  const step = (name: string, by: number): void => {
    active.set(name, (active.get(name) ?? 0) + by);
    most.set(name, Math.max(most.get(name) ?? 0, active.get(name)!));
  };
  return {
    most,
    task:
      (name: string, order: string[] = []) =>
      async () => {
        order.push(name);
        for (const counted of [name, "all"]) step(counted, 1);
        await sleep(5);
        for (const counted of [name, "all"]) step(counted, -1);
        return name;
      },
  };
}

t.test(
  "deployments of one root take turns whatever it is called, those of others overlap, two at the most",
  async (t) => {
    const folder = temporaryFolder(t);
    await mkdir(join(folder, "one"));
    await symlink("one", join(folder, "alias"));
    const queue = new DeploymentQueue();
    const { most, task } = counting();
    const runs = ["one", "alias", "two", "three", "one/../one", "alias", "two", "three"].map((path) => {
      const name = path === "two" || path === "three" ? path : "one";
      return queue.run({ projectRoot: join(folder, path), hub: "h" }, task(name));
    });
    t.same((await Promise.all(runs)).length, 8);
    t.same(Object.fromEntries(most), { one: 1, two: 1, three: 1, all: 2 });
  },
);

t.test("a root that waits for its own turn takes no place from others", async (t) => {
  const folder = temporaryFolder(t);
  const queue = new DeploymentQueue();
  const started = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const blocked = queue.run({ projectRoot: join(folder, "one"), hub: "h" }, () => {
    started.resolve();
    return released.promise;
  });
  await started.promise;
  const waiting = [1, 2, 3].map(() => queue.run({ projectRoot: join(folder, "one"), hub: "h" }, async () => {}));
  await queue.run({ projectRoot: join(folder, "two"), hub: "h" }, async () => {});
  released.resolve();
  await Promise.all([blocked, ...waiting]);
});

t.test("a task that fails fails alone", async (t) => {
  const root = temporaryFolder(t);
  const queue = new DeploymentQueue();
  const failing = queue.run({ projectRoot: root, hub: "h" }, () => Promise.reject(new Error("no")));
  const next = queue.run({ projectRoot: root, hub: "h" }, async () => "next");
  await t.rejects(failing, { message: "no" });
  t.equal(await next, "next");
});

t.test("a root has one name, also before it exists below a link", async (t) => {
  const folder = temporaryFolder(t);
  await mkdir(join(folder, "real"));
  await symlink("real", join(folder, "alias"));
  t.equal(await realRoot(join(folder, "alias")), await realRoot(join(folder, "real")));
  t.equal(await realRoot(join(folder, "alias/a/b")), await realRoot(join(folder, "real/a/b")));
  t.not(await realRoot(join(folder, "alias/a")), await realRoot(join(folder, "real/b")));
});
