import { createRequire, registerHooks, type RegisterHooksOptions } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Lets a deployed plugin import `sealift/sdk`, and zod unless it has its own, without anything installed beside it. */

/** Extension of this file, which its siblings share: the product runs from `.ts` sources and from compiled `.js`. */
export const OWN_EXTENSION = extname(fileURLToPath(import.meta.url));

export const SDK_URL = new URL(`../../sdk/index${OWN_EXTENSION}`, import.meta.url).href;

const SDK_FORMAT = OWN_EXTENSION === ".ts" ? "module-typescript" : "module";

/** Folder of the bundled zod: `dist/zod` of a build, the installed package for the sources. */
export const ZOD_FOLDER =
  OWN_EXTENSION === ".js"
    ? fileURLToPath(new URL("../../zod", import.meta.url))
    : dirname(createRequire(import.meta.url).resolve("zod/package.json"));

/** Returns the URL of zod's entry for the importer's conditions. */
const zodUrl = (conditions: readonly string[]): string =>
  pathToFileURL(join(ZOD_FOLDER, conditions.includes("require") ? "index.cjs" : "index.js")).href;

const resolve: RegisterHooksOptions["resolve"] = (specifier, context, nextResolve) => {
  if (specifier === "sealift/sdk") return { url: SDK_URL, format: SDK_FORMAT, shortCircuit: true };
  if (specifier !== "zod" || context.parentURL === import.meta.url) return nextResolve(specifier, context);
  try {
    return nextResolve(specifier, context);
  } catch {
    return { url: zodUrl(context.conditions), shortCircuit: true };
  }
};

let installed = false;

/** Installs the resolution in this process, once. Works under `--permission`. */
export function installSdkResolution(): void {
  if (installed) return;
  installed = true;
  registerHooks({ resolve });
}
