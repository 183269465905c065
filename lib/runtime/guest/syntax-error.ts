import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

// Loaded on demand, and imports nothing of ours: what it shared with the main module would be one more file to load.

/** Most files of a plugin searched for one that does not parse. */
const MAX_FILES = 500;
const MODULES = /\.(?:[cm]?js|[cm]?ts)$/;
const PASSED_BY: ReadonlySet<string> = new Set(["node_modules", "data", ".git"]);

interface SourcePlace {
  file: string;
  line: number;
  column: number | undefined;
}

/** Reads the place that Node writes above the stack of some syntax errors: file and line, the line, a caret. */
function placeInStack(stack: string): SourcePlace | undefined {
  const lines = stack.split("\n");
  const [, location, line] = /^(file:\/\/\/.*|\/.*?):(\d+)$/.exec(lines[0] ?? "") ?? [];
  if (location === undefined) return undefined;
  const caret = lines.slice(1, 5).find((text) => /^\s*\^+\s*$/.test(text));
  const file = location.startsWith("file:") ? fileURLToPath(new URL(location.split("?")[0] ?? "")) : location;
  return { file, line: Number(line), column: caret === undefined ? undefined : caret.indexOf("^") + 1 };
}

const modulesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => MODULES.test(path) && !path.split("/").some((part) => PASSED_BY.has(part)))
    .slice(0, MAX_FILES)
    .map((path) => join(folder, path));

/** Finds a syntax error by the parser that strips types, since V8 does not locate those in ES modules. */
function placeByParsing(folder: string): SourcePlace | undefined {
  for (const file of modulesOf(folder)) {
    try {
      stripTypeScriptTypes(readFileSync(file, "utf8"), { sourceUrl: pathToFileURL(file).href });
    } catch (error) {
      return placeInStack((error as Error).stack ?? "");
    }
  }
  return undefined;
}

/** Matches a decorator, which the parser that strips types accepts and V8 does not know. */
const DECORATOR = /^\s*@[A-Za-z_$]/;

function placeOfDecorator(folder: string): SourcePlace | undefined {
  for (const path of modulesOf(folder)) {
    const lines = readFileSync(path, "utf8").split("\n");
    const line = lines.findIndex((text) => DECORATOR.test(text));
    if (line !== -1) return { file: path, line: line + 1, column: lines[line]!.indexOf("@") + 1 };
  }
  return undefined;
}

/**
 * Describes why a plugin's code cannot be loaded; a syntax error with its file, line and column.
 * @param message the error's own
 * @param folder the plugin's, which the file is named relative to
 */
export function describeLoadError(error: unknown, message: string, folder: string): string {
  if (!(error instanceof Error) || error.name !== "SyntaxError") return message;
  try {
    const isUnknown = message.includes("Invalid or unexpected token");
    const place =
      placeInStack(error.stack ?? "") ?? placeByParsing(folder) ?? (isUnknown ? placeOfDecorator(folder) : undefined);
    if (place === undefined) return message;
    const column = place.column === undefined ? "" : `:${place.column}`;
    const advice = isUnknown ? " (decorators and other syntax that Node does not know need a compiler)" : "";
    return `${relative(folder, place.file)}:${place.line}${column}: SyntaxError: ${message}${advice}`;
  } catch {
    return message;
  }
}
