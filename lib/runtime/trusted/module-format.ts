import { existsSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, extname, join } from "node:path";
import { compileFunction } from "node:vm";

export type ModuleFormat = "commonjs" | "module";

const BY_EXTENSION: Record<string, ModuleFormat> = {
  ".cjs": "commonjs",
  ".cts": "commonjs",
  ".mjs": "module",
  ".mts": "module",
};

/** V8's messages for ES module syntax in a CommonJS file, by which Node itself detects it. */
const MODULE_SYNTAX = [
  "Cannot use import statement outside a module",
  "Unexpected token 'export'",
  "Cannot use 'import.meta' outside a module",
  "await is only valid in async functions and the top level bodies of modules",
];

function typeOfPackage(file: string): unknown {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const path = join(folder, "package.json");
    if (existsSync(path)) return (JSON.parse(readFileSync(path, "utf8")) as { type?: unknown }).type;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Finds the format in which Node will run a file: by extension, by the nearest package.json, or else by its syntax. */
export function moduleFormat(file: string): ModuleFormat {
  const extension = extname(file);
  const known = BY_EXTENSION[extension];
  if (known !== undefined) return known;
  const type = typeOfPackage(file);
  if (type === "module" || type === "commonjs") return type;
  try {
    const text = readFileSync(file, "utf8");
    const source = extension === ".ts" ? stripTypeScriptTypes(text) : text;
    compileFunction(source, ["exports", "require", "module", "__filename", "__dirname"]);
    return "commonjs";
  } catch (error) {
    const { message } = error as Error;
    return MODULE_SYNTAX.some((known) => message.startsWith(known)) ? "module" : "commonjs";
  }
}
