import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/** Returns the folder of this package: above the sources, or above `dist/`. */
export function packageFolder(): string {
  const candidates = ["../..", "../../.."].map((path) => resolve(import.meta.dirname, path));
  return candidates.find((folder) => existsSync(join(folder, "package.json")))!;
}
