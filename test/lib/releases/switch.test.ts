// Holds: what becomes of a deployment that was killed (lib/releases/recovery.ts, lib/releases/switch.ts)
import { lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { recoverJournal, sweepTarget } from "../../../lib/releases/recovery.ts";
import { collectReleases, currentRelease, listReleases } from "../../../lib/releases/release.ts";
import { finishSwitch, planSwitch, switchRelease, undoSwitch } from "../../../lib/releases/switch.ts";
import { install, layoutOf, plant, plugin, type Prepared, prepareRelease } from "../../support/host/project-root.ts";

const TARGET = "project-prj_0000000000";
const switchTo = ({ journal, items }: Prepared, envFiles = new Map<string, string>()) =>
  switchRelease(journal, { items, envFiles });
const finish = async ({ journal }: Prepared): Promise<void> => {
  await finishSwitch(journal);
  await journal.clear();
};
const undo = async ({ journal }: Prepared): Promise<void> => {
  await undoSwitch(journal);
  await journal.clear();
};
const read = (root: string, path: string): Promise<string> => readFile(join(root, path), "utf8");

t.test("a switch shows the new release through links, and a commit drops the links of ids that are gone", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const first = await prepareRelease(layout, TARGET, "1.0.0", {
    "plugins/a/f": "a1",
    "plugins/b/f": "b1",
    "extensions/x/f": "x1",
  });
  await install(first);
  t.equal(await read(root, "plugins/a/f"), "a1");
  t.equal(await readlink(join(root, "plugins/a")), `../.sealift/current/${TARGET}/plugins/a`);
  t.equal(await readlink(layout.current(TARGET)), `../releases/${TARGET}/${first.name}`);

  const second = await prepareRelease(layout, TARGET, "2.0.0", { "plugins/a/f": "a2", "plugins/c/f": "c2" });
  await switchTo(second);
  t.equal(await read(root, "plugins/a/f"), "a2");
  await finish(second);
  t.same((await readdir(join(root, "plugins"))).toSorted(), ["a", "c"]);
  t.same(await readdir(join(root, "extensions")), []);
  t.equal((await currentRelease(layout, TARGET))?.version, "2.0.0");
});

t.test("an undo brings back the links of the previous release and removes the new one", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const first = await prepareRelease(layout, TARGET, "1.0.0", { "plugins/a/f": "a1", "plugins/b/f": "b1" });
  await install(first);
  const second = await prepareRelease(layout, TARGET, "2.0.0", { "plugins/a/f": "a2", "plugins/c/f": "c2" });
  await plant(root, { prepared: "K=1\n" });
  await switchTo(second, new Map([["c", join(root, "prepared")]]));
  t.equal((await lstat(layout.envFile(plugin("c")))).mode & 0o777, 0o600);
  await undo(second);
  t.equal(await read(root, "plugins/a/f"), "a1");
  t.same((await readdir(join(root, "plugins"))).toSorted(), ["a", "b"], "the new id and its environment file are gone");
  t.equal((await listReleases(layout, TARGET)).length, 1);
});

t.test("an undone first deployment leaves nothing installed", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const first = await prepareRelease(layout, TARGET, "1.0.0", { "plugins/a/f": "a1" });
  await switchTo(first);
  await undo(first);
  t.same(await readdir(join(root, "plugins")), []);
  t.equal(await currentRelease(layout, TARGET), undefined);
  t.same(await readdir(layout.releases(TARGET)), []);
});

t.test("a plugin's data survives upgrades, and shipped files never replace the host's", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const first = await prepareRelease(layout, TARGET, "1.0.0", {
    "plugins/a/data/seed.txt": "seed 1",
    "plugins/a/data/deep/er.txt": "er",
  });
  await install(first);
  t.equal(await read(root, "plugins/a/data/seed.txt"), "seed 1");
  await writeFile(join(root, "plugins/a/data/own.txt"), "own");
  await writeFile(join(root, "plugins/a/data/seed.txt"), "changed by the plugin");
  const second = await prepareRelease(layout, TARGET, "2.0.0", {
    "plugins/a/data/seed.txt": "seed 2",
    "plugins/a/data/new.txt": "new",
  });
  await install(second);
  t.equal(await read(root, "plugins/a/data/seed.txt"), "changed by the plugin");
  t.equal(await read(root, "plugins/a/data/new.txt"), "new");
  t.equal(await read(root, "plugins/a/data/own.txt"), "own");
  t.equal(await read(root, "plugins/a/data/deep/er.txt"), "er");
});

t.test("a real folder becomes the first release, its data moves, and a rollback shows it again", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  await plant(root, { "plugins/a/f": "by hand", "plugins/a/data/db.txt": "precious", "plugins/other/f": "not ours" });
  const entry = await prepareRelease(layout, TARGET, "1.0.0", { "plugins/a/f": "a1" });
  t.same(await planSwitch(layout, TARGET, entry.items), [plugin("a")]);
  await switchTo(entry);
  t.equal(await read(root, "plugins/a/f"), "a1");
  t.equal(await read(root, "plugins/a/data/db.txt"), "precious");
  t.equal(await read(root, ".sealift/data/plugins/a/db.txt"), "precious");
  await undo(entry);
  t.equal(await read(root, "plugins/a/f"), "by hand");
  t.equal(await read(root, "plugins/a/data/db.txt"), "precious");
  t.equal(await read(root, "plugins/other/f"), "not ours");
  t.equal((await currentRelease(layout, TARGET))?.version, "adopted");
});

t.test("an adoption that was killed half way is finished by recovery", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  await plant(root, { "plugins/a/f": "by hand", "plugins/a/data/db.txt": "precious" });
  const entry = await prepareRelease(layout, TARGET, "1.0.0", { "plugins/a/f": "a1" });
  await switchTo(entry);
  // As if the process had died before any link was made: the journal says what was on the way.
  const { rm, rename } = await import("node:fs/promises");
  await rm(join(root, "plugins/a"));
  await rm(layout.current(TARGET));
  await rm(join(layout.release(TARGET, entry.journal.entry.previous!), "release.json"));
  await rename(join(layout.release(TARGET, entry.journal.entry.previous!), "plugins/a"), join(root, "plugins/a"));
  t.equal((await recoverJournal(layout))?.deployment_id, entry.journal.entry.deployment_id);
  t.equal(await read(root, "plugins/a/f"), "by hand");
  t.equal(await read(root, "plugins/a/data/db.txt"), "precious");
  t.equal(await recoverJournal(layout), undefined, "once");
});

t.test("data in both places refuses the adoption before anything is moved", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  await plant(root, {
    "plugins/a/f": "by hand",
    "plugins/a/data/db.txt": "one",
    ".sealift/data/plugins/a/db.txt": "two",
  });
  await t.rejects(planSwitch(layout, TARGET, [plugin("a")]), { code: "data_conflict" });
  t.equal(await read(root, "plugins/a/data/db.txt"), "one");
});

t.test("ids of another target, foreign links and files are refused", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const other = await prepareRelease(layout, "plugin-other", "1.0.0", { "plugins/a/f": "theirs" });
  await install(other);
  await symlink("/tmp", join(root, "plugins/b"));
  await writeFile(join(root, "plugins/c"), "file");
  for (const id of ["a", "b", "c"]) await t.rejects(planSwitch(layout, TARGET, [plugin(id)]), { code: "id_taken" }, id);
});

t.test("collection keeps the running release and the newest others, and reports and data", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const names: string[] = [];
  for (const version of ["1.0.0", "2.0.0", "3.0.0", "4.0.0"]) {
    const entry = await prepareRelease(layout, TARGET, version, { "plugins/a/f": version });
    await install(entry);
    names.push(entry.name);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await plant(layout.reports(TARGET), { "r.json": "{}" });
  const removed = await collectReleases(layout, TARGET, 2);
  t.same(removed.toSorted(), [names[0], names[1]].toSorted());
  t.equal(await read(root, "plugins/a/f"), "4.0.0");
  t.same(await readdir(layout.reports(TARGET)), ["r.json"]);
  t.equal((await collectReleases(layout, TARGET, 1)).length, 1);
  t.equal((await listReleases(layout, TARGET)).length, 1);
});

t.test("recovery removes staging folders and releases that were never finished", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  await mkdir(layout.staging(TARGET, "x"), { recursive: true });
  await plant(layout.release(TARGET, "half"), { "plugins/a/f": "half" });
  t.same(await sweepTarget(layout, TARGET), []);
  t.same(await readdir(layout.releases(TARGET)), []);
});
