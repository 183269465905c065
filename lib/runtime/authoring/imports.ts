import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { declaredDependencies, PROVIDED } from "../../artifact/packages/installed-packages.ts";
import type { SourceMember } from "../../artifact/tree/member-list.ts";

/** Largest source that is searched for imports, in bytes: larger ones are bundles, which import nothing. */
const MAX_SOURCE_BYTES = 4 * 1024 * 1024;
const CODE = /\.[cm]?[jt]s$/;
/** Endings by which a file may be imported without its own: compilers write `./x.js` for `x.ts`. */
const ENDINGS = ["", ".js", ".ts", ".mjs", ".cjs", ".json", "/index.js", "/index.ts"];
const QUOTED = /(["'])((?:\.{1,2}\/|@?[\w-])[^"'\n]*)\1/g;

/**
 * Returns the declared dependencies that an archive lacks, and that its code imports: the entry point, and files that
 * it imports in turn. A bundle beside its sources imports none.
 */
export async function missingPackages(
  folder: string,
  entryPoint: string,
  packed: readonly SourceMember[],
): Promise<string[]> {
  // The runtime resolves zod for plugins that bring none of their own.
  const absent = declaredDependencies(folder).filter(
    (name) =>
      name !== "zod" && !PROVIDED.has(name) && !packed.some(({ path }) => path.startsWith(`node_modules/${name}/`)),
  );
  if (absent.length === 0) return [];
  const sizes = new Map(packed.map(({ path, size }) => [path, size]));
  const named = new Set<string>();
  const found = new Set([posix.normalize(entryPoint)]);
  for (const path of found) {
    if (!CODE.test(path) || sizes.get(path)! > MAX_SOURCE_BYTES) continue;
    for (const [, , specifier = ""] of (await readFile(join(folder, path), "utf8")).matchAll(QUOTED)) {
      if (specifier.startsWith(".")) {
        const file = fileOf(posix.join(posix.dirname(path), specifier), sizes);
        if (file !== undefined) found.add(file);
      } else for (const name of absent) if (specifier === name || specifier.startsWith(`${name}/`)) named.add(name);
    }
  }
  return [...named].toSorted();
}

/** Finds the packed file that an import of this path means. */
function fileOf(path: string, packed: ReadonlyMap<string, number>): string | undefined {
  const written = path.replace(/\.([cm]?)js$/, ".$1ts");
  return [...ENDINGS.map((ending) => path + ending), written].find((name) => packed.has(name));
}
