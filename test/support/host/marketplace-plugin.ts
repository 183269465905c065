import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import { zipFolder } from "../../../scripts/quickstart/zip-folder.ts";
import type { World } from "./world.ts";

/** Secret that the plugin's developer signs with. */
export const SECRET = "the developer's own secret";

/** Makes a plugin on the marketplace of a real hub, with its install plan. */
export async function makePlugin(
  world: World,
  slug: string,
): Promise<{
  plan: string;
  developer: Record<string, string>;
  publish: (version: string, files?: Record<string, string>) => Promise<string>;
}> {
  const developer = { ...world.admin, SEALIFT_SIGNING_SECRET: SECRET };
  await world.programs.run(
    "sealift",
    ["project", "create", `The ${slug}`, "--kind", "plugin", "--slug", slug],
    world.admin,
  );
  const plan = world.path(`${slug}.yaml`);
  await world.programs.run("sealift", ["plan", "init", slug, "--out", plan], {});
  const publish = async (version: string, files: Record<string, string> = {}): Promise<string> => {
    const folder = world.path(`${slug}-${version}`);
    const all = {
      "plugin.yaml": `name: ${slug}\nversion: ${version}\nexecution_mode: trusted\n`,
      "src/main.js": `export default ${JSON.stringify(version)};\n`,
      ...files,
    };
    for (const [path, content] of Object.entries(all)) {
      await mkdir(join(folder, path, ".."), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    const file = world.path(`${slug}-${version}.zip`);
    await zipFolder(folder, `${slug}-${version}`, file);
    await world.programs.run(
      "sealift",
      ["marketplace", "publish", slug, "--version", version, "--archive", file, "--repo", `acme/${slug}@v${version}`],
      developer,
    );
    return file;
  };
  return { plan, developer, publish };
}

/** Returns the last report that a host has kept of a target. */
export const lastReport = async (root: string, target: string): Promise<LocalReport> => {
  const folder = join(root, ".sealift", "reports", target);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json")).toSorted();
  return JSON.parse(await readFile(join(folder, names.at(-1)!), "utf8")) as LocalReport;
};
