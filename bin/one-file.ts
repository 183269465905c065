/**
 * First file of the single executable. The name that it is called by selects the program; with any other name it is
 * `sealift`.
 */
import { WriteStream } from "node:fs";
import { registerHooks } from "node:module";
import { basename, join } from "node:path";
import { getRawAsset } from "node:sea";
import { pathToFileURL } from "node:url";
import { RUN_INSIDE } from "../lib/support/one-file.ts";
import packageJson from "../package.json" with { type: "json" };

// The embedded file system has no writev (Node 26.10), and a file's stream with more than one waiting buffer would end
// the program: without the method, it writes them one by one.
Reflect.deleteProperty(WriteStream.prototype, "_writev");

// Embedded modules import each other by their paths. Node would look for each of them, and for the package.json above
// it, in the embedded file system, which takes longer than on a disk.
const root = pathToFileURL(join(import.meta.dirname, "/")).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith(".") && context.parentURL?.startsWith(root)
      ? { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true }
      : next(specifier, context),
  load: (url, context, next) =>
    url.startsWith(root) && context.format === "module"
      ? { source: getRawAsset(url.slice(root.length)), format: "module", shortCircuit: true }
      : next(url, context),
});

const programs: Readonly<Record<string, string>> = packageJson.bin;
const [word, inside = ""] = process.argv.slice(2);
const isInside = word === RUN_INSIDE;
const called = basename(process.argv0);
const name = isInside
  ? inside
  : ((Object.hasOwn(programs, called) ? programs[called] : undefined) ?? programs["sealift"]!);
const file = join(import.meta.dirname, name);
process.argv.splice(1, isInside ? 3 : 1, file);
await import(pathToFileURL(file).href);
