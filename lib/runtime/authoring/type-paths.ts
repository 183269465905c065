import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "../../support/files.ts";
import { SDK_URL, ZOD_FOLDER } from "../guest/sdk-resolution.ts";

/**
 * Folder of the file that a TypeScript plugin's `tsconfig.json` extends: made for this machine, and no part of the
 * plugin.
 */
export const LOCAL_FOLDER = ".sealift";
export const TYPES_FILE = `${LOCAL_FOLDER}/tsconfig.json`;

/**
 * Writes the paths at which TypeScript finds the types of packages that the runtime provides, so that nothing has to be
 * installed. Does nothing for a plugin whose `tsconfig.json` does not extend them.
 * @param folder of the plugin
 */
export async function writeTypePaths(folder: string): Promise<void> {
  const config = await readFile(join(folder, "tsconfig.json"), "utf8").catch(() => "");
  if (!config.includes(TYPES_FILE)) return;
  const sdk = fileURLToPath(SDK_URL).replace(/\.js$/, ".d.ts");
  const zod = join(ZOD_FOLDER, "index.d.ts");
  const paths = { "sealift/sdk": [sdk], ...(existsSync(zod) && { zod: [zod] }) };
  await makeFolder(join(folder, LOCAL_FOLDER));
  await writeFile(join(folder, TYPES_FILE), `${JSON.stringify({ compilerOptions: { paths } }, null, 2)}\n`);
}
