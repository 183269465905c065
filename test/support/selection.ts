import { readFileSync } from "node:fs";

/** Part of the test files: those that everybody waits for, the others, or all of them (CONTRIBUTING.md). */
export type Selection = "core" | "rest" | "all";

/** The line by which a test file leaves the core. It says why. */
const OUTSIDE_OF_CORE = /^\/\/ Only in test:all: \S/m;

/** Returns the files of a part, in their order. @param root folder of the paths, with a slash at its end */
export function filesOf(selection: Selection, files: readonly string[], root: string): string[] {
  if (selection === "all") return [...files];
  const isOutside = (file: string): boolean => OUTSIDE_OF_CORE.test(readFileSync(`${root}${file}`, "utf8"));
  return files.filter((file) => isOutside(file) === (selection === "rest"));
}
