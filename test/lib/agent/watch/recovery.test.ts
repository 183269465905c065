import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readReports } from "../../../../lib/agent/reports/report.ts";
import type { SupervisorChoice } from "../../../../lib/agent/supervisors/supervisor.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { readJournal } from "../../../../lib/releases/journal.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { acquireLock } from "../../../../lib/releases/lock.ts";
import { switchRelease } from "../../../../lib/releases/switch.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { install, prepareRelease } from "../../../support/host/project-root.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const systemd: SupervisorChoice = {
  name: "systemd",
  make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }),
};
const running = (root: string): Promise<string> => readFile(join(root, "plugins/a/version"), "utf8");

/** A root that runs 1.0.0, with the switch to 2.0.0 done and not committed: its deployment was killed. */
async function killedRoot(t: Test, touched: (string | null)[]): Promise<string> {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const files = (version: string) => ({ "plugins/a/version": version });
  const first = await prepareRelease(layout, GIVEN_TARGET, "1.0.0", files("1.0.0"));
  await install(first);
  const killed = await prepareRelease(layout, GIVEN_TARGET, "2.0.0", files("2.0.0"));
  await switchRelease(killed.journal, killed);
  await killed.journal.note({ touched });
  return root;
}

t.test(
  "what a crash left is undone before the hub is asked, with a report, and then the version is tried anew",
  async (t) => {
    const root = await killedRoot(t, []);
    t.equal(await running(root), "2.0.0");
    const target = givenTarget(root);
    target.publish("2.0.0");
    const w = watching(t, [target]);
    await w.until("recovery.done", { version: "2.0.0" });
    t.equal(target.polls.length, 0);
    t.match(await w.until("check.done"), { running_version: "1.0.0" });
    await w.until("deploy.done", { outcome: "deployed", version: "2.0.0", previous_version: "1.0.0" });
    await w.stop();
    const reports = await readReports(layoutOf(root), GIVEN_TARGET, 10);
    t.match(
      reports.map(({ status, code }) => ({ status, code })),
      [
        { status: "success", code: null },
        { status: "rolled_back", code: "interrupted" },
      ],
    );
  },
);

t.test("also where the hub is away", async (t) => {
  const root = await killedRoot(t, []);
  const target = givenTarget(root);
  target.failing.push(new Error("away"));
  const w = watching(t, [target]);
  await w.until("check.failed");
  t.equal(await running(root), "1.0.0");
  t.equal(await readJournal(layoutOf(root)), undefined);
});

t.test("the units are brought back by what runs them, whichever target of the root comes first", async (t) => {
  for (const neighbourFirst of [true, false]) {
    const calls = await recordingProgram(t, "systemctl", "");
    const root = await killedRoot(t, ["a"]);
    const owner = givenTarget(root, { deploy: { supervisor: systemd } });
    const neighbour = givenTarget(root, { slug: "prj_0000000001", plugin: "b" });
    const w = watching(t, neighbourFirst ? [neighbour, owner] : [owner, neighbour]);
    await w.until("recovery.done");
    await w.stop();
    t.match(await calls(), [/restart sealift-plugin-a/], `neighbour first: ${neighbourFirst}`);
  }
});

t.test("the journal of a deployment under way, in another process, is left alone", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const theirs = await acquireLock(layout.lock, { waitMs: 0 });
  const prepared = await prepareRelease(layout, GIVEN_TARGET, "2.0.0", { "plugins/a/version": "2.0.0" });
  const target = givenTarget(root, { deploy: { lockWaitMs: 50 } });
  const w = watching(t, [target]);
  await w.until("check.failed", { code: "root_busy" });
  t.match(await readJournal(layout), { deployment_id: prepared.journal.entry.deployment_id });
  await install(prepared);
  await theirs[Symbol.asyncDispose]();
  t.match(await w.until("check.done"), { running_version: "2.0.0" });
  t.equal(w.all("recovery.done").length, 0);
});
