/**
 * `npm run check`: the checks that a change needs most, in a minute and a half. Types of everything; lint and format
 * of the files that differ from `main`; and the tests that import them, the nearest first. `--tests 60` says how many
 * files of tests (30), `--all` runs all of them, `--base REF` compares with another commit.
 *
 * `--without NAME` checks something else: whether a feature of the hub can go, in a copy without its folders and its
 * lines of the lists. It prints what still imports it and what no longer compiles, then runs the tests of its rooms;
 * `--types` leaves those out. `--without changed` does so for each feature that the change touches, `--without every`
 * for all of them.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { scriptArguments } from "./arguments.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    base: { type: "string", default: "main" },
    tests: { type: "string", default: "30" },
    all: { type: "boolean", default: false },
    without: { type: "string" },
    types: { type: "boolean", default: false },
  },
});
const most = values.all ? Infinity : Number(values.tests);

const git = (...args: string[]): string[] =>
  execFileSync("git", args, { encoding: "utf8" }).split("\n").filter(Boolean);
const [base = "HEAD"] = git("merge-base", values.base, "HEAD");
const changed = [
  ...git("diff", "--name-only", "--diff-filter=d", base),
  ...git("ls-files", "-o", "--exclude-standard"),
];

if (values.without !== undefined) {
  const { checkWithout, featuresIn } = await import("./without.ts");
  const { without } = values;
  const names = without === "changed" ? featuresIn(changed) : without === "every" ? featuresIn() : [without];
  const needed = names.filter((name) => !checkWithout(name, !values.types));
  if (needed.length > 0) console.error(`Cannot go: ${needed.join(", ")}`);
  process.exit(needed.length > 0 ? 1 : 0);
}

/** Tests that have a process of their own (`.taprc`). */
const APART = /^test\/(?:docs|end-to-end|faults|fuzz|ops|scripts)\//;
const IMPORTED = /(?:\bfrom |\bimport |\bimport\(|\bnew URL\()"(\.[^"]+)"/g;

/** Returns the importers of each file, by import or by starting its path. */
function importers(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of globSync("{bin,commands,lib,scripts,test,examples}/**/*.{ts,tsx}"))
    for (const [, path] of readFileSync(file, "utf8").matchAll(IMPORTED)) {
      const imported = normalize(join(dirname(file), path!));
      found.set(imported, [...(found.get(imported) ?? []), file]);
    }
  return found;
}

/** Folders of a path. */
const foldersOf = (path: string): string[] => path.split("/").slice(0, -1);

/**
 * Tells how near a test is to a changed file: the imports between them, fewer for each folder that both have in common,
 * and for a test that is called after a folder of the file, as those of a feature are in every room.
 */
function distanceOf(test: string, file: string, imports: number): number {
  const [own, others] = [foldersOf(file), foldersOf(test).slice(1)];
  const differing = own.findIndex((folder, index) => folder !== others[index]);
  const shared = differing === -1 ? own.length : differing;
  const name = own.at(-1)?.replace(/s$/, "");
  const isNamed = name !== undefined && own.length > 2 && test.includes(name);
  return imports - 2 * shared - (isNamed ? 4 : 0) + (APART.test(test) ? 4 : 0);
}

/** Test files that reach a changed file by their imports, the nearest first. */
function touched(): string[] {
  const by = importers();
  const nearest = new Map<string, number>();
  for (const file of changed) {
    const steps = new Map([[file, 0]]);
    // A map is walked in the order in which it grows.
    for (const [reached, count] of steps)
      for (const importer of by.get(reached) ?? []) if (!steps.has(importer)) steps.set(importer, count + 1);
    for (const [test, count] of steps)
      if (/\.test\.tsx?$/.test(test) && !test.startsWith("test/batches/"))
        nearest.set(test, Math.min(nearest.get(test) ?? Infinity, distanceOf(test, file, count)));
  }
  return [...nearest].toSorted(([, a], [, b]) => a - b).map(([test]) => test);
}

/** Files that run the others in two processes, as `npm test` does. A process of its own costs each most of a second. */
function batchesOf(together: readonly string[]): string[] {
  mkdirSync(".tap", { recursive: true });
  return [0, 1].flatMap((half) => {
    const files = together.filter((_, index) => index % 2 === half);
    if (files.length === 0) return [];
    const batch = `.tap/check-${half}.test.mjs`;
    const call = `together(...${JSON.stringify(files)});`;
    writeFileSync(batch, `import { together } from "../test/support/together.ts";\n${call}\n`);
    return [batch];
  });
}

const failed: string[] = [];
async function run(program: string, ...args: string[]): Promise<void> {
  const [code] = (await once(spawn(program, args, { stdio: "inherit" }), "exit")) as [number | null];
  if (code !== 0) failed.push(program);
}

const all = touched();
const tests = all.slice(0, most);
const code = changed.filter((file) => /\.(?:tsx?|js)$/.test(file) && !file.startsWith("examples/"));
console.log(
  `${changed.length} files differ from ${values.base}; ${tests.length} of ${all.length} files of tests import them.`,
);
await Promise.all([
  run(
    "npm",
    ...["run", "--silent", "typecheck", "--"],
    ...["--incremental", "--tsBuildInfoFile", "node_modules/.cache/check.tsbuildinfo"],
  ),
  code.length > 0 && run("eslint", "--max-warnings", "0", "--no-warn-ignored", ...code),
  changed.length > 0 && run("prettier", "--check", "--ignore-unknown", ...changed),
]);
// These start programs of dist/.
if (tests.some((file) => /^test\/(?:commands|docs|end-to-end|faults|scripts)\//.test(file)))
  await run("npm", "run", "--silent", "build", "--", "--fast");
// Like .ci/run: a change of the walls is tried in each of their settings.
if (
  changed.some((file) => /^(?:lib\/runtime\/(?:walls|sandbox|guest)|test\/(?:attacks|support)\/runtime)\//.test(file))
)
  process.env["SEALIFT_EVERY_WALL"] = "1";
const apart = tests.filter((file) => APART.test(file));
const batches = batchesOf(tests.filter((file) => !APART.test(file)));
if (tests.length > 0) await run("tap", "--jobs=2", ...batches, ...apart);
if (tests.length < all.length) console.log(`Left to CI: ${all.length - tests.length} files of tests. --all runs them.`);
if (failed.length > 0) console.error(`Failed: ${failed.join(", ")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
