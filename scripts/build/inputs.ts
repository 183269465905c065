import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const INPUTS = [
  "{bin,commands,lib,scripts/build}/**/*.{ts,tsx}",
  "lib/web/page/page.{css,js}",
  "scripts/{manual,exit-meanings}.ts",
  "package{,-lock}.json",
  "tsconfig{,.build}.json",
];

/** File with the hash of the inputs that `dist/` was built from. */
const STAMP = "dist/.inputs";

/** Returns a hash of all inputs of the build, including the Node that fills the compile cache. */
export function hashOfInputs(): string {
  const hash = createHash("sha256").update(process.version);
  for (const file of globSync(INPUTS).toSorted()) hash.update(`${file}\0`).update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

export const isBuiltFrom = (hash: string): boolean => existsSync(STAMP) && readFileSync(STAMP, "utf8") === hash;

/** Removes the hash before a build, so that after a failed one the next runs again. */
export const removeStamp = (): void => rmSync(STAMP, { force: true });

export const writeStamp = (hash: string): void => writeFileSync(STAMP, hash);
