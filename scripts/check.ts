/**
 * `npm run check`: the checks that a change needs most, in minutes. Types of everything; lint and format of the files
 * that differ from `main`; and the tests that import them, the nearest first. `--tests 60` says how many files of tests
 * (40), `--all` runs all of them, `--base REF` compares with another commit.
 *
 * `--without NAME` checks something else: whether a feature of the hub can go, in a copy without its folders and its
 * lines of the lists. It prints what still imports it and what no longer compiles, then runs the tests of its rooms;
 * `--types` leaves those out.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { scriptArguments } from "./arguments.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    base: { type: "string", default: "main" },
    tests: { type: "string", default: "40" },
    all: { type: "boolean", default: false },
    without: { type: "string" },
    types: { type: "boolean", default: false },
  },
});
if (values.without !== undefined) {
  const { checkWithout } = await import("./without.ts");
  process.exit(checkWithout(values.without, !values.types) ? 0 : 1);
}
const most = values.all ? Infinity : Number(values.tests);

const git = (...args: string[]): string[] =>
  execFileSync("git", args, { encoding: "utf8" }).split("\n").filter(Boolean);
const [base = "HEAD"] = git("merge-base", values.base, "HEAD");
const changed = [
  ...git("diff", "--name-only", "--diff-filter=d", base),
  ...git("ls-files", "-o", "--exclude-standard"),
];

const IMPORTED = /(?:\bfrom |\bimport |\bimport\(|\bnew URL\()"(\.[^"]+)"/g;

/** Files by those that they import or start by their path, turned round. */
function importers(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of globSync("{bin,commands,lib,scripts,test,examples}/**/*.{ts,tsx}"))
    for (const [, path] of readFileSync(file, "utf8").matchAll(IMPORTED)) {
      const imported = normalize(join(dirname(file), path!));
      found.set(imported, [...(found.get(imported) ?? []), file]);
    }
  return found;
}

/** Test files that reach a changed file by their imports: those with the fewest steps first. */
function touched(): string[] {
  const by = importers();
  const reached = new Set(changed);
  // A set is walked in the order in which it grows.
  for (const file of reached) for (const importer of by.get(file) ?? []) reached.add(importer);
  return [...reached].filter((file) => /\.test\.tsx?$/.test(file) && !file.startsWith("test/batches/"));
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
// As .ci/run does: a change of the walls is tried in each setting of theirs.
if (
  changed.some((file) => /^(?:lib\/runtime\/(?:walls|sandbox|guest)|test\/(?:attacks|support)\/runtime)\//.test(file))
)
  process.env["SEALIFT_EVERY_WALL"] = "1";
if (tests.length > 0) await run("tap", "--jobs=2", ...tests);
if (tests.length < all.length) console.log(`Left to CI: ${all.length - tests.length} files of tests. --all runs them.`);
if (failed.length > 0) console.error(`Failed: ${failed.join(", ")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
