/** Temporary names that killed runs leave behind. */
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { switchRelease } from "../../../lib/releases/switch.ts";
import { statsOf } from "../../../lib/support/files.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { layoutOf, plant, plugin, prepareRelease } from "../../support/host/project-root.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const options = (root: string) => ({ projectRoot: root, hostId: "host", supervisor: { name: "none" as const } });
const HEX = "0123456789ab";

/** The paths of those that still stand. */
async function left(paths: readonly string[]): Promise<string[]> {
  const stats = await Promise.all(paths.map(statsOf));
  return paths.filter((_, index) => stats[index] !== undefined);
}

t.test("the next deployment removes the temporary names of killed runs, and nothing else", async (t) => {
  const root = temporaryFolder(t);
  const { sealift } = layoutOf(root);
  t.match(await deploy(sourceOf("1.0.0", INSTALL), options(root), () => {}), { outcome: "deployed" });
  await mkdir(join(root, "extensions"), { recursive: true });

  const files = [join(sealift, `.journal.json.${HEX}.tmp`)];
  const links = [join(root, "plugins"), join(root, "extensions"), join(sealift, "current")].map((folder) =>
    join(folder, `.link-${HEX}`),
  );
  for (const path of files) await writeFile(path, "{");
  for (const path of links) await symlink("nowhere", path);
  const others = [
    join(root, "plugins", ".link-of-a-person"),
    join(root, "extensions", ".link-ffffffffffff"),
    join(sealift, ".other.json.0123456789ab.tmp"),
  ];
  for (const path of others) await writeFile(path, "kept");

  t.match(await deploy(sourceOf("1.1.0", INSTALL), options(root), () => {}), { outcome: "deployed" });
  t.same(await left([...files, ...links]), []);
  t.same(await left(others), others);
});

t.test("seeds of a killed switch are removed from the plugin's data, and no link is followed", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const outside = temporaryFolder(t);
  const seed = `.seed-${HEX}`;
  await plant(outside, { [seed]: "kept", [`deep/${seed}`]: "kept" });

  // Killed inside the switch: its journal stays.
  const killed = await prepareRelease(layout, TARGET, "1.0.0", {
    "plugins/a/version": "1.0.0",
    "plugins/a/data/sub/deep/shipped.txt": "1",
    "plugins/a/data/led/deep/shipped.txt": "1",
  });
  await switchRelease(killed.journal, killed);
  const data = layout.data(plugin("a"));
  await plant(data, { [seed]: "1", [`sub/${seed}`]: "1", [`sub/deep/${seed}`]: "1", ".seed-of-a-person": "kept" });
  await rename(join(data, "led"), join(data, "own"));
  await symlink(outside, join(data, "led"));
  await mkdir(join(data, "sub", ".seed-ffffffffffff"));

  t.match(await deploy(sourceOf("1.1.0", INSTALL), options(root), () => {}), { outcome: "deployed" });
  t.same(await left([seed, `sub/${seed}`, `sub/deep/${seed}`].map((name) => join(data, name))), []);
  const kept = [
    join(outside, seed),
    join(outside, "deep", seed),
    join(data, ".seed-of-a-person"),
    join(data, "sub", ".seed-ffffffffffff"),
    join(data, "sub", "deep", "shipped.txt"),
  ];
  t.same(await left(kept), kept);
});
