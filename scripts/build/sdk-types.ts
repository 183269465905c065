import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import ts from "typescript";

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
};

const MODULES = "/node_modules/";

/** Returns the path of a copied declaration: as in node_modules, but below a name that npm packs. */
const copyOf = (path: string, folder: string): string =>
  join(folder, "types", path.slice(path.indexOf(MODULES) + MODULES.length).replaceAll(MODULES, "/+/"));

interface Import {
  /** Specifier with its quotes. */
  from: number;
  to: number;
  /** Declaration file that it refers to. */
  file: string;
  isRelative: boolean;
}

function importsOf(text: string, file: string): Import[] {
  return ts.preProcessFile(text, true, true).importedFiles.flatMap(({ fileName, pos }) => {
    if (isBuiltin(fileName)) return [];
    const found = ts.resolveModuleName(fileName, file, OPTIONS, ts.sys).resolvedModule?.resolvedFileName;
    if (found === undefined) throw new Error(`${file} imports ${fileName}, which has no declarations`);
    return [{ from: pos, to: pos + fileName.length + 2, file: found, isRelative: fileName.startsWith(".") }];
  });
}

/**
 * Makes the declarations of a copied SDK self-contained: those of other packages that they refer to (Fastify's requests
 * and replies) are put beside them, and imported from there.
 *
 * @param folder the copy
 * @param source the built SDK, from which the other packages can be found
 */
export function embedTypes(folder: string, source: string): void {
  const placeOf = (file: string): string =>
    file.startsWith(source) ? join(folder, relative(source, file)) : copyOf(file, folder);
  const files = new Set([join(source, "index.d.ts")]);
  // Iterating a Set includes what is added meanwhile.
  for (const file of files) {
    const place = placeOf(file);
    let text = readFileSync(file, "utf8");
    for (const { from, to, file: target, isRelative } of importsOf(text, file).toReversed()) {
      files.add(target);
      if (isRelative) continue;
      const path = relative(dirname(place), placeOf(target)).replace(/\.d\.([cm]?)ts$/, ".$1js");
      text = `${text.slice(0, from)}"${path.startsWith(".") ? path : `./${path}`}"${text.slice(to)}`;
    }
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, text);
  }
  // These packages are CommonJS, and their declarations say `export =`.
  writeFileSync(join(folder, "types", "package.json"), '{ "type": "commonjs" }\n');
}
