/**
 * `npm test` runs the core of the tests: every rule once, every program end to end. `--all`, as `npm run test:all`,
 * runs every test, and `--rest` those that the core leaves out. A file leaves the core by a line at its top,
 * `// Only in test:all: <why>`. What else is given is tap's, as in `npm test -- --jobs=2`; with files, those run.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { filesOf, type Selection, testEnvironment } from "../test/support/selection.ts";
import { scriptArguments } from "./arguments.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = scriptArguments(import.meta.filename, {
  // What is not ours is tap's.
  strict: false,
  options: { all: { type: "boolean", default: false }, rest: { type: "boolean", default: false } },
});
const words = process.argv.slice(2).filter((word) => word !== "--all" && word !== "--rest");
const selection: Selection = values["all"] === true ? "all" : values["rest"] === true ? "rest" : "core";

/** Whether a file runs others in its process, and none of this part (test/support/together.ts). */
function isEmptyBatch(file: string): boolean {
  const [, pattern] = /^together\("(.+)"\);$/m.exec(readFileSync(`${root}${file}`, "utf8")) ?? [];
  return pattern !== undefined && filesOf(selection, globSync(pattern, { cwd: root }), root).length === 0;
}

/** The line by which a file that waits for a minute begins before the others: nobody waits for it at the end. */
const EARLY = /^\/\/ Begins early: \S/m;

/** Returns the files that tap runs for this part, in the order of `.taprc`. */
function chosen(): string[] {
  const { include } = parse(readFileSync(`${root}.taprc`, "utf8")) as { include: string[] };
  const [batches = [], apart = []] = include.map((pattern) => globSync(pattern, { cwd: root }).toSorted());
  const isEarly = (file: string): boolean => EARLY.test(readFileSync(`${root}${file}`, "utf8"));
  const [early = [], late = []] = [true, false].map((is) =>
    filesOf(selection, apart, root).filter((file) => isEarly(file) === is),
  );
  return [...early, ...batches.filter((file) => !isEmptyBatch(file)), ...late];
}

// tap excludes none of the files that it is given.
const excluded = words.flatMap((word) => /^--exclude=(.+)$/.exec(word)?.[1] ?? []);
const isNamed = words.some((word) => /\.test\.tsx?$/.test(word) && !word.startsWith("--"));
const files = isNamed ? [] : chosen().filter((file) => !excluded.includes(file));
const child = spawn("tap", [...words, ...files], {
  cwd: root,
  stdio: "inherit",
  env: { ...testEnvironment(process.env), SEALIFT_TESTS: selection },
});
const [code] = (await once(child, "exit")) as [number | null];
process.exitCode = code ?? 1;
