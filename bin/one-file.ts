/**
 * The first file of the single executable. The name that it is called by says which program it is; with any other name
 * it is `sealift`.
 */
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { RUN_INSIDE } from "../lib/support/one-file.ts";
import packageJson from "../package.json" with { type: "json" };

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
