// Only in test:all: a deployment is killed at each of its events.
/** An agent on a machine that lacks something: it says so, the old release stays whole, and the next run goes on. */
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { HostFacts, installed } from "../../scripts/crash/host-facts.ts";
import { HostWorld } from "../../scripts/crash/host-world.ts";
import { cannotStarve, DAY_MS, movedClock, smallDisk, startStarved } from "../support/host/starved.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("an agent without disk, descriptors or the right time", { skip: cannotStarve }, async (t) => {
  const folder = temporaryFolder(t);
  await using world = await HostWorld.make(folder);
  const reference = join(folder, "reference");
  mkdirSync(reference);
  await world.deploy(reference, "1.0.0");
  const old = await installed(reference);
  await world.deploy(reference, "1.1.0");
  const changed = await installed(reference);
  const disk = smallDisk(t, 8 * 1024 * 1024);
  let roots = 0;

  /** A root where 1.0.0 runs. */
  const newRoot = async (): Promise<string> => {
    const root = join(disk.folder, `root-${roots++}`);
    mkdirSync(root);
    await world.deploy(root, "1.0.0");
    return root;
  };
  const { args, env } = world.program;
  const run = (root: string, version: string, options: Partial<Parameters<typeof startStarved>[3]> = {}) =>
    startStarved(t, "deploy-project", [...args, "--version", version, "--project-root", root], {
      ...{ cwd: folder, env },
      ...options,
    });
  const whole = async (root: string, status: number | null, recover: () => Promise<unknown>): Promise<string[]> => {
    const facts = new HostFacts(root, world.target, { old, changed, kept: {}, done: status === 0 });
    await facts.expectWhole("after the run");
    await recover();
    await facts.expectWhole("after the next run");
    await facts.expectNothingLeft();
    return facts.faults;
  };

  await t.test("a full disk ends a deployment with 75, wherever it is met", async (t) => {
    for (const left of [0, 4_096, 24_576, 61_440]) {
      const root = await newRoot();
      disk.fill(left);
      const program = run(root, "1.1.0");
      const status = await program.ended;
      t.equal(status, 75, `${left} bytes left: ${program.stderr()}`);
      const faults = await whole(root, status, async () => {
        disk.free();
        await world.recover(root);
      });
      t.same(faults, [], `${left} bytes left`);
    }
  });

  await t.test("a disk that can only be read ends it with the documented code", async (t) => {
    const root = await newRoot();
    disk.setReadOnly(true);
    const program = run(root, "1.1.0");
    const status = await program.ended;
    disk.setReadOnly(false);
    t.equal(status, 1);
    t.match(program.stderr(), /error \(root_unusable\)/);
    t.same(await whole(root, status, () => world.recover(root)), []);
  });

  await t.test("few descriptors end it with 75, or are enough", async (t) => {
    const codes = new Set<number | null>();
    for (const descriptors of [23, 25, 28, 200]) {
      const root = await newRoot();
      const program = run(root, "1.1.0", { descriptors });
      const status = await program.ended;
      codes.add(status);
      t.ok(status === 0 || status === 75, `${descriptors} descriptors, exit code ${status}: ${program.stderr()}`);
      t.same(await whole(root, status, () => world.recover(root)), [], `${descriptors} descriptors`);
    }
    t.ok(codes.has(0) && codes.has(75), [...codes].join(" "));
  });

  await t.test("a clock that is off by a day, either way, and is set in between", async (t) => {
    for (const offset of [DAY_MS, -DAY_MS]) {
      const root = await newRoot();
      const clock = movedClock(t, offset);
      t.equal(await run(root, "1.1.0", { clock }).ended, 0, `off by ${offset} ms`);
      clock.set(0);
      t.equal(await run(root, "1.2.0", { clock }).ended, 0, "set right again");
      t.equal((await world.rollback(root)).version, "1.1.0", "the release before is still the one before");
      t.equal(await readFile(join(root, "plugins/shop/deep/er/version"), "utf8"), "1.1.0");
    }
  });
});
