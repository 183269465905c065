import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageFolder } from "./package-folder.ts";

let known: string | undefined;

/** Returns the version of this package. */
export function programVersion(): string {
  known ??= (JSON.parse(readFileSync(join(packageFolder(), "package.json"), "utf8")) as { version: string }).version;
  return known;
}
