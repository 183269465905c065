// Holds: control groups that tell members (lib/support/control-groups/member-groups.ts)
// Holds: the end of a group on kernels without cgroup.kill (lib/support/control-groups/control-group.ts)
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { findMembers, MemberGroup, type MemberGroups } from "../../../../lib/support/control-groups/member-groups.ts";
import { ownFolder } from "../../../../lib/support/control-groups/own-group.ts";
import { until } from "../../../support/until.ts";

/** Returns why this user makes no control groups; false where it does. */
function noGroups(): string | false {
  try {
    accessSync(join(ownFolder(), "cgroup.procs"), constants.W_OK);
    return false;
  } catch {
    return "no control group can be made here";
  }
}

const OWNER = `sealift-test-${process.pid}`;
const skip = noGroups();

async function members(t: Test): Promise<MemberGroups> {
  const found = await findMembers(OWNER, 5_000);
  if (found.members === undefined) throw new Error(found.reason);
  t.teardown(() => findMembers(OWNER, 5_000));
  return found.members;
}

/** Starts processes in a group that each start a successor in a session of its own, and end. */
async function hopping(group: MemberGroup): Promise<void> {
  await group.make();
  const hop = 'hop=$1; setsid env -i /bin/sh -c "$hop" sh "$hop" & setsid env -i /bin/sleep 300 &';
  const words = ["-c", 'echo 0 > "$0"; exec /bin/sh -c "$1" sh "$1"', group.entrance, hop];
  await once(spawn("/bin/sh", words, { stdio: "ignore" }), "exit");
  await until(() => group.pids.length > 20);
}

t.test("processes that hop are ended together, and the group goes", { skip }, async (t) => {
  const group = (await members(t)).of("hops");
  await hopping(group);
  t.same(await group.end(10_000), []);
  await group.remove();
  t.notOk(existsSync(group.folder));
});

t.test("so they are where the kernel has no cgroup.kill", { skip }, async (t) => {
  const group = (await members(t)).of("frozen");
  await hopping(group);
  // The group as an older kernel shows it: what cannot be written is not there.
  const older = t.testdir({});
  mkdirSync(join(older, "cgroup.kill"));
  for (const name of ["cgroup.procs", "cgroup.freeze"]) symlinkSync(join(group.folder, name), join(older, name));
  t.same(await new MemberGroup(older).end(10_000), []);
  t.same(group.pids, []);
});

t.test("what an earlier process of the owner left is ended, and nothing of another owner", { skip }, async (t) => {
  const left = (await members(t)).of("left");
  const others = new MemberGroup(join(ownFolder(), `sealift-other-${process.pid}`));
  await hopping(left);
  await others.make();
  t.teardown(() => others.remove());
  const sleep = spawn("/bin/sh", ["-c", 'echo 0 > "$0"; exec sleep 60', others.entrance], { stdio: "ignore" });
  t.teardown(() => sleep.kill("SIGKILL"));
  await until(() => others.pids.length === 1);
  await findMembers(OWNER, 5_000);
  t.notOk(existsSync(left.folder));
  t.equal(others.pids.length, 1);
});
