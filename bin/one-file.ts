/**
 * The first file of the single executable. The name that it is called by says which program it is; with any other name
 * it is `sealift`.
 */
import { WriteStream } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { RUN_INSIDE } from "../lib/support/one-file.ts";
import packageJson from "../package.json" with { type: "json" };

// The file system inside knows no writev (Node 26.10), and a file's stream that has more than one buffer waiting would
// end the program: it writes them one by one.
Reflect.deleteProperty(WriteStream.prototype, "_writev");

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
