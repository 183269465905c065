import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { WatchMemory } from "../../../../lib/agent/watch/state.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const LATEST = { etag: '"1"', version: "1.0.0", identity: null, yanked: ["0.9.0"] };

t.test("what is remembered of a target is there after a restart, and nobody else's", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const memory = new WatchMemory({ layout }, "plugin-a");
  t.same(await memory.read(), { v: 1, paused: false, latest: null });
  await memory.change({ paused: true });
  await memory.change({ latest: LATEST });
  t.same(await memory.read(), { v: 1, paused: true, latest: LATEST });
  t.same(await new WatchMemory({ layout }, "plugin-a").read(), { v: 1, paused: true, latest: LATEST });
  t.same(await new WatchMemory({ layout }, "service-a").read(), { v: 1, paused: false, latest: null });
});

t.test("a loop removes what a killed one of its target left half written, and nobody else's", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const folder = join(layout.sealift, "state");
  await mkdir(folder, { recursive: true });
  const [own, other] = ["plugin-a", "plugin-b"].map((name) => `.watch-${name}.json.0123456789ab.tmp`) as [
    string,
    string,
  ];
  for (const name of [own, other]) await writeFile(join(folder, name), "{");
  await new WatchMemory({ layout }, "plugin-a").begin();
  t.same(await readdir(folder), [other]);
});

t.test("changes that come at once are all kept, in memory and on disk, whatever was read meanwhile", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  for (let round = 0; round < 20; round++) {
    const memory = new WatchMemory({ layout }, `plugin-${round}`);
    await Promise.all([
      memory.read(),
      memory.change({ paused: true }),
      memory.read(),
      memory.change({ latest: LATEST }),
      memory.change({ latest: { ...LATEST, version: "1.1.0" } }),
    ]);
    const wanted = { v: 1, paused: true, latest: { ...LATEST, version: "1.1.0" } };
    t.same(await memory.read(), wanted);
    t.same(await new WatchMemory({ layout }, `plugin-${round}`).read(), wanted);
  }
});

t.test("what is remembered already is not written again: an idle host writes nothing", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const file = join(layout.sealift, "state/watch-plugin-a.json");
  const writes = async (): Promise<bigint> => (await stat(file, { bigint: true })).ino;
  const unpublished = { etag: null, version: null, identity: null, yanked: [] };
  for (const latest of [unpublished, LATEST]) {
    await new WatchMemory({ layout }, "plugin-a").change({ latest });
    const first = await writes();
    // A restart knows it, too.
    for (const memory of [new WatchMemory({ layout }, "plugin-a"), new WatchMemory({ layout }, "plugin-a")])
      for (let poll = 0; poll < 3; poll++) await memory.change({ latest: { ...latest } });
    t.equal(await writes(), first);
  }
  const memory = new WatchMemory({ layout }, "plugin-a");
  await memory.read();
  await rm(file);
  await mkdir(file);
  await t.rejects(memory.change({ paused: true }));
  await rm(file, { recursive: true });
  await memory.change({ paused: true });
  t.match(JSON.parse(await readFile(file, "utf8")), { paused: true }, "what could not be written is written later");
});

t.test("a file that is not ours is forgotten, one that cannot be read is an error", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const file = (name: string): string => join(layout.sealift, "state", `watch-plugin-${name}.json`);
  await mkdir(file("folder"), { recursive: true });
  await writeFile(file("torn"), '{"v":1,"pau');
  t.same(await new WatchMemory({ layout }, "plugin-torn").read(), { v: 1, paused: false, latest: null });
  await t.rejects(new WatchMemory({ layout }, "plugin-folder").read());
  await new WatchMemory({ layout }, "plugin-torn").change({ paused: true });
  t.match(JSON.parse(await readFile(file("torn"), "utf8")), { v: 1, paused: true });
});
