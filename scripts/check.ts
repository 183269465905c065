/**
 * `npm run check`: the checks that a change needs most, in a minute and a half. Types of everything; lint and format
 * of the files that differ from `main`; the tests that hold a rule of theirs (`// Holds:`), golden files, and the tests
 * that import them, the nearest first; and the pages that type what changed. `--tests 60` says how many files of tests
 * (30), `--all` runs all of them, `--base REF` compares with another commit.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { scriptArguments } from "./arguments.ts";
import { APART, nearestTests } from "./nearest-tests.ts";
import { pagesNaming } from "./pages-naming.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    base: { type: "string", default: "main" },
    tests: { type: "string", default: "30" },
    all: { type: "boolean", default: false },
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

const { holding, reaching } = nearestTests(changed);
/** Tells whether a test compares what users see with a file of it. There are few, and they are quick. */
const isGolden = (test: string): boolean => /^test\/(?:golden\/|docs\/named)/.test(test);
const all = [...new Set([...holding, ...reaching.filter(isGolden), ...reaching])];
const tests = all.slice(0, Math.max(most, holding.length));
const pages = pagesNaming(changed);
const code = changed.filter((file) => /\.(?:tsx?|js)$/.test(file) && !file.startsWith("examples/"));
console.log(
  `${changed.length} files differ from ${values.base}. Of ${all.length} files of tests that reach them, ${tests.length} ` +
    `run, first the ${holding.length} that hold a rule of theirs; ${pages.length} pages are typed.`,
);
await Promise.all([
  run(
    "npm",
    ...["run", "--silent", "typecheck", "--"],
    ...["--incremental", "--tsBuildInfoFile", "node_modules/.cache/check.tsbuildinfo"],
  ),
  code.length > 0 && run("oxlint", "--no-error-on-unmatched-pattern", ...code),
  code.length > 0 && run("eslint", "--no-warn-ignored", ...code),
  changed.length > 0 && run("prettier", "--check", "--ignore-unknown", ...changed),
]);
// These start programs of dist/.
if (pages.length > 0 || tests.some((file) => /^test\/(?:commands|docs|end-to-end|faults|scripts)\//.test(file)))
  await run("npm", "run", "--silent", "build", "--", "--fast");
// Like .ci/run: a change of the walls is tried in each of their settings.
if (
  changed.some((file) => /^(?:lib\/runtime\/(?:walls|sandbox|guest)|test\/(?:attacks|support)\/runtime)\//.test(file))
)
  process.env["SEALIFT_EVERY_WALL"] = "1";
const apart = tests.filter((file) => APART.test(file));
const batches = batchesOf(tests.filter((file) => !APART.test(file)));
if (pages.length > 0) {
  process.env["SEALIFT_PAGES"] = pages.join(",");
  apart.push("test/docs/first-hour.test.ts", "test/docs/commands.test.ts");
}
const files = [...new Set([...batches, ...apart])];
if (files.length > 0) await run("tap", "--jobs=2", ...files);
if (tests.length < all.length) console.log(`Left to CI: ${all.length - tests.length} files of tests. --all runs them.`);
if (failed.length > 0) console.error(`Failed: ${failed.join(", ")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
