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

/** Variables that tests read. Every other `SEALIFT_…` is an option of a program, which tests give it themselves. */
const OF_TESTS = /^SEALIFT_(?:TEST_\w+|EVERY_WALL|PAGES|CHAOS_\w+|SEED|GOLDEN|PIPELINE_TRACE)$/;

/** Returns the environment of tests: without the options that whoever runs them has set, such as a hub and its key. */
export const testEnvironment = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith("SEALIFT_") || OF_TESTS.test(name)),
  );
