import { createRequire, registerHooks } from "node:module";
import { sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { installSdkResolution } from "../guest/sdk-resolution.ts";
import { moduleFormat } from "./module-format.ts";

/**
 * Loads a trusted plugin's code for each generation. Node never frees an ES module, so each generation has URLs of its
 * own: its entry point is imported with a query, which the resolve hook passes on to the plugin's own relative imports.
 * CommonJS modules can be freed: they leave `require.cache`.
 */

const PARAMETER = "sealift-generation";
const GENERATION = new RegExp(`[?&]${PARAMETER}=(\\d+)`);

/** ES modules of one plugin that Node holds, of all its generations together. */
export interface HeldModules {
  generations: number;
  /** Bytes of source text. */
  bytes: number;
}

interface LoadedFolder {
  held: HeldModules;
  latest: number;
}

const require = createRequire(import.meta.url);

let lastGeneration = 0;
/** Real path of a plugin's folder, with a final separator → what is loaded from it. */
const folders = new Map<string, LoadedFolder>();

function folderOf(url: string): LoadedFolder | undefined {
  if (!url.startsWith("file:")) return undefined;
  const path = fileURLToPath(url);
  for (const [folder, loaded] of folders) if (path.startsWith(folder)) return loaded;
  return undefined;
}

let hooked = false;

function installHooks(): void {
  if (hooked) return;
  hooked = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      // `require` knows files, not URLs; what it loads leaves with require.cache.
      if (folders.size === 0 || context.conditions.includes("require")) return resolved;
      const target = folderOf(resolved.url);
      if (target === undefined || GENERATION.test(resolved.url)) return resolved;
      const generation = GENERATION.exec(context.parentURL ?? "")?.[1] ?? String(target.latest);
      const url = new URL(resolved.url);
      url.searchParams.set(PARAMETER, generation);
      return { ...resolved, url: url.href };
    },
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (GENERATION.test(url) && loaded.format?.startsWith("module")) {
        const target = folderOf(url);
        if (target && loaded.source) target.held.bytes += Buffer.byteLength(loaded.source);
      }
      return loaded;
    },
  });
}

/** Removes the CommonJS modules of a folder from the cache and from the children of every module that stays. */
export function forgetCommonJs(folder: string): void {
  const prefix = folder + sep;
  const isOwn = (path: string): boolean => path.startsWith(prefix);
  for (const [path, module] of Object.entries(require.cache)) {
    if (isOwn(path)) delete require.cache[path];
    else if (module?.children.some((child) => isOwn(child.filename))) {
      module.children = module.children.filter((child) => !isOwn(child.filename));
    }
  }
}

/** Loads the modules of one plugin, release after release, and counts what cannot be freed. */
export class ModuleLoader {
  readonly held: HeldModules = { generations: 0, bytes: 0 };
  readonly #latest = new Map<string, number>();

  /**
   * Starts a new generation and loads it. Running code can see its number only in its own URLs.
   * @param entry real path of the entry point, inside `folder`
   */
  async load(entry: string, folder: string): Promise<Record<string, unknown>> {
    installSdkResolution();
    installHooks();
    forgetCommonJs(folder);
    const generation = ++lastGeneration;
    this.#latest.set(folder, generation);
    folders.set(folder + sep, { held: this.held, latest: generation });
    if (moduleFormat(entry) === "commonjs") return { default: createRequire(entry)(entry) as unknown };
    this.held.generations++;
    const url = pathToFileURL(entry);
    url.searchParams.set(PARAMETER, String(generation));
    return (await import(url.href)) as Record<string, unknown>;
  }

  /** Returns the latest generation loaded from a folder. */
  generationOf(folder: string): number | undefined {
    return this.#latest.get(folder);
  }

  /** Frees what can be freed of a generation, unless a newer one runs from the same folder. */
  unload(folder: string, generation: number | undefined): void {
    if (this.#latest.get(folder) !== generation) return;
    forgetCommonJs(folder);
    folders.delete(folder + sep);
    this.#latest.delete(folder);
  }
}
