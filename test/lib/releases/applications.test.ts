// Holds: where settings, data and links of an application stand (lib/releases/applications.ts,
// lib/releases/data-folders.ts, lib/releases/kept-data.ts)
import { mkdir, readdir, readFile, readlink, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import * as z from "zod";
import { FileTable } from "../../../lib/artifact/tree/file-table.ts";
import { writeContents } from "../../../lib/releases/contents.ts";
import { readJournal } from "../../../lib/releases/journal.ts";
import { quarantine, readQuarantine } from "../../../lib/releases/quarantine.ts";
import { recoverJournal, sweepTarget } from "../../../lib/releases/recovery.ts";
import { currentRelease, listReleases, readRelease, writeRelease } from "../../../lib/releases/release.ts";
import { SourceFolders } from "../../../lib/releases/source-folders.ts";
import { baseTree } from "../../../lib/releases/source-tree.ts";
import { finishSwitch, planSwitch, switchRelease, undoSwitch } from "../../../lib/releases/switch.ts";
import { application, install, layoutOf, plant, plugin, prepareRelease } from "../../support/host/project-root.ts";

const TARGET = "project-prj_0000000000";
const read = (root: string, path: string): Promise<string> => readFile(join(root, path), "utf8");

/** `release.json` as Sealift 0.1.0 reads it: a record that it cannot read is swept with its release. */
const OLD_ITEM = z.object({ section: z.enum(["plugins", "extensions"]), id: z.string() });
const OLD_RECORD = z.object({
  version: z.string(),
  identity: z.string().nullable(),
  items: z.array(OLD_ITEM),
  steps: z.object({ stop: z.array(z.unknown()), after: z.array(z.unknown()) }).optional(),
  content_sha256: z.string().nullable(),
  signer: z.string().nullish(),
  source_folders: z.record(z.string(), z.string()).optional(),
  created_at: z.string(),
  descriptors: z.record(z.string(), z.string()).optional(),
  files: z.int().nonnegative().optional(),
});

t.test("an application has a link, settings and data of its own, beside a plugin of the same name", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const files = { "apps/web/server.js": "w1", "apps/web/var/storage/seed": "seed", "plugins/web/f": "p1" };
  const first = await prepareRelease(layout, TARGET, "1.0.0", files, { "apps/web": "var/storage" });
  await plant(root, { app: "A=1\n", plugin: "P=1\n" });
  const envFiles = new Map([
    ["apps/web", join(root, "app")],
    ["web", join(root, "plugin")],
  ]);
  await switchRelease(first.journal, { items: first.items, envFiles });
  await finishSwitch(first.journal);
  await first.journal.clear();
  t.equal(await readlink(join(root, "apps/web")), `../.sealift/current/${TARGET}/apps/web`);
  t.equal(await read(root, "apps/web/server.js"), "w1");
  t.equal(await read(root, "plugins/web/f"), "p1");
  t.strictSame([await read(root, "apps/web.env"), await read(root, "plugins/web.env")], ["A=1\n", "P=1\n"]);
  await writeFile(join(root, "apps/web/var/storage/own"), "own");
  t.strictSame(await readdir(join(root, ".sealift/data/apps/web")), ["own"], "its start puts the seed there");
  t.equal(await read(layout.shippedData(TARGET, first.name, application("web")), "seed"), "seed");

  const second = await prepareRelease(layout, TARGET, "2.0.0", { "apps/web/server.js": "w2", "apps/api/main": "a2" });
  await install(second);
  t.strictSame((await readdir(join(root, "apps"))).toSorted(), ["api", "web", "web.env"]);
  t.strictSame(await readdir(join(root, "plugins")), ["web.env"], "the dropped plugin is gone, its settings stay");
  t.strictSame(await readdir(join(root, "apps/web")), ["server.js"], "without `data:` nothing is reserved");
});

t.test("Sealift 0.1.0 reads the record of a release with applications as one of its plugins", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const { name, items } = await prepareRelease(
    layout,
    TARGET,
    "1.0.0",
    { "apps/web/f": "1", "plugins/a/f": "1" },
    { "apps/web": "storage" },
  );
  const text = await read(layout.release(TARGET, name), "release.json");
  t.strictSame(OLD_RECORD.parse(JSON.parse(text)).items, [plugin("a")]);
  t.strictSame((await readRelease(layout, TARGET, name))?.items, items.toReversed(), "and this one reads them all");
  t.notMatch(
    await prepareRelease(layout, TARGET, "1.1.0", { "plugins/a/f": "1" }).then(({ name }) =>
      read(layout.release(TARGET, name), "release.json"),
    ),
    /applications/,
  );
});

t.test("a release whose record cannot be read is not swept as if it had none", async (t) => {
  const layout = layoutOf(t.testdir());
  await plant(layout.release(TARGET, "future"), { "release.json": '{"version": 7}', "plugins/a/f": "kept" });
  await plant(layout.release(TARGET, "half"), { "plugins/a/f": "half" });
  await sweepTarget(layout, TARGET);
  t.strictSame(await readdir(layout.releases(TARGET)), ["future"]);
  t.strictSame(await listReleases(layout, TARGET), []);
});

t.test("a run that was killed in its switch is undone with its applications", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  await install(await prepareRelease(layout, TARGET, "1.0.0", { "apps/web/f": "1", "apps/old/f": "1" }));
  const second = await prepareRelease(layout, TARGET, "2.0.0", { "apps/web/f": "2", "apps/new/f": "2" });
  await plant(root, { prepared: "K=1\n" });
  await switchRelease(second.journal, {
    items: second.items,
    envFiles: new Map([["apps/new", join(root, "prepared")]]),
  });
  t.match(await readJournal(layout), { items: [application("web"), application("new")], env_files: ["apps/new"] });
  await recoverJournal(layout);
  t.equal(await read(root, "apps/web/f"), "1");
  t.strictSame((await readdir(join(root, "apps"))).toSorted(), ["old", "web"]);
});

t.test("a folder that stood at apps/<id> becomes the first release, and its data moves", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  await plant(root, { "apps/web/server.js": "by hand", "apps/web/var/storage/db": "precious" });
  const data = { "apps/web": "var/storage" };
  const entry = await prepareRelease(layout, TARGET, "1.0.0", { "apps/web/server.js": "w1" }, data);
  t.strictSame(await planSwitch(layout, TARGET, entry.items), [application("web", "var/storage")]);
  await switchRelease(entry.journal, entry);
  t.equal(await read(root, "apps/web/var/storage/db"), "precious");
  t.equal(await read(root, ".sealift/data/apps/web/db"), "precious");
  const { previous } = entry.journal.entry;
  // As if the process had died before the link was made.
  await rm(join(root, "apps/web"));
  await rename(join(layout.release(TARGET, previous!), "apps/web"), join(root, "apps/web"));
  await recoverJournal(layout);
  t.equal(await read(root, "apps/web/server.js"), "by hand");
  t.equal(await read(root, "apps/web/var/storage/db"), "precious");
  t.match(await currentRelease(layout, TARGET), { version: "adopted", items: [application("web", "var/storage")] });
});

t.test("data that stands in both places refuses the adoption", async (t) => {
  const root = t.testdir({ apps: { web: { storage: { db: "one" } } } });
  await plant(root, { ".sealift/data/apps/web/db": "two" });
  const layout = layoutOf(root);
  await t.rejects(planSwitch(layout, TARGET, [application("web", "storage")]), { code: "data_conflict" });
  t.strictSame(await planSwitch(layout, TARGET, [application("web")]), [application("web")], "without `data:` it may");
});

t.test("a release that ships files as data is the base of a delta", async (t) => {
  const layout = layoutOf(t.testdir());
  const data = { "apps/web": "storage" };
  const files = { "apps/web/f": "f", "apps/web/storage/seed": "seed" };
  const { name } = await prepareRelease(layout, TARGET, "1.0.0", files, data);
  const folder = layout.release(TARGET, name);
  const items = [application("web", "storage")];
  const folders = new SourceFolders({ "apps/web": "apps/web" }, items);
  const known = (path: string) => {
    const entry = { type: "file" as const, path: folders.pathOf(path), executable: false, size: 1, sha256: "0" };
    return { unpacked: entry, isSource: true, mayHaveChanged: true };
  };
  const listed = await writeContents(folder, { known });
  const source = Object.keys(files).toSorted();
  const entries = source.map((path) => ({ type: "file" as const, path, executable: false, size: 1, sha256: "0" }));
  await writeRelease(layout, TARGET, name, {
    ...{ version: "1.0.0", identity: null, items, created_at: new Date().toISOString(), files: listed },
    ...{ content_sha256: FileTable.of(entries).digest(), source_folders: { "apps/web": "apps/web" } },
  });
  const base = await baseTree(layout, TARGET, (await readRelease(layout, TARGET, name))!);
  t.strictSame(
    [...base!.files].map(({ path }) => path),
    source,
  );
});

t.test("an undone first deployment takes its application with it, and leaves its data", async (t) => {
  const root = t.testdir();
  const layout = layoutOf(root);
  const data = { "apps/web": "storage" };
  const first = await prepareRelease(layout, TARGET, "1.0.0", { "apps/web/storage/seed": "1" }, data);
  await switchRelease(first.journal, first);
  await undoSwitch(first.journal);
  t.strictSame(await readdir(join(root, "apps")), []);
  t.strictSame(await readdir(join(root, ".sealift/data/apps")), ["web"]);
});

t.test("data where the release ships a file is refused by its name", async (t) => {
  const layout = layoutOf(t.testdir());
  const prepared = (files: Record<string, string>, data: string) =>
    prepareRelease(layout, TARGET, "1.0.0", files, { "apps/web": data });
  await t.rejects(prepared({ "apps/web/storage": "file" }, "storage"), { message: /web ships a file named storage,/ });
  await t.rejects(prepared({ "apps/web/var": "file" }, "var/lib"), { message: /web ships a file named var,/ });
});

t.test("a refusal for a document's format ends when another Sealift looks", async (t) => {
  const layout = layoutOf(t.testdir());
  const entry = { version: "2.0.0", identity: "x", reason: "unknown key", at: new Date().toISOString() };
  for (const code of ["manifest_invalid", "plan_invalid", "app_invalid"]) {
    await quarantine(layout, TARGET, { ...entry, code });
    t.match(await readQuarantine(layout, TARGET), [{ code }], "this one has just refused it");
    for (const agent of [undefined, "0.0.9"]) {
      await mkdir(join(layout.sealift, "state"), { recursive: true });
      await writeFile(layout.state(TARGET), JSON.stringify({ quarantine: [{ ...entry, code, agent }] }));
      t.strictSame(await readQuarantine(layout, TARGET), [], `${code} of ${agent ?? "an older one"}`);
    }
  }
  await writeFile(layout.state(TARGET), JSON.stringify({ quarantine: [{ ...entry, code: "unhealthy" }] }));
  t.match(await readQuarantine(layout, TARGET), [{ code: "unhealthy" }], "a release that did not work stays out");
});
