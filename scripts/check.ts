/**
 * `npm run check`: the checks that a change needs most, in a minute and a half. Types, wing by wing; lint, format and
 * generated pages; then tests: those that the change edits, those that hold a rule of it (`// Holds:`), golden files,
 * and those that import it, the nearest first; and the pages that type what changed. A list of what failed ends the
 * output. `--tests 60` says how many files of tests (30), `--all` runs all of them, `--base REF` compares with another
 * commit than that where the branch left `main`.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { scriptArguments } from "./arguments.ts";
import { APART, nearestTests, startsPrograms } from "./nearest-tests.ts";
import { pagesNaming } from "./pages-naming.ts";
import { TestReport } from "./test-report.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    base: { type: "string", default: "main" },
    tests: { type: "string", default: "30" },
    all: { type: "boolean", default: false },
  },
});
const most = values.all ? Infinity : Number(values.tests);
/** Seconds after which a file of tests has failed: the slowest take a tenth of it where nothing else runs. */
const FILE_LIMIT = 240;

const git = (...args: string[]): string[] =>
  execFileSync("git", args, { encoding: "utf8" }).split("\n").filter(Boolean);
const [base = "HEAD"] = git("merge-base", values.base, "HEAD");
const changed = [
  ...git("diff", "--name-only", "--diff-filter=d", base),
  ...git("ls-files", "-o", "--exclude-standard"),
];

/** Processes that test at a time. Tests wait more than they work: two of them leave half of two processors idle. */
const JOBS = 4;

/** Files that run the others in some processes. A process of its own costs each most of a second. */
function batchesOf(together: readonly string[]): string[] {
  mkdirSync(".tap", { recursive: true });
  return Array.from({ length: JOBS }).flatMap((_, batchIndex) => {
    const files = together.filter((_, index) => index % JOBS === batchIndex);
    if (files.length === 0) return [];
    const batch = `.tap/check-${batchIndex}.test.mjs`;
    const call = `together(...${JSON.stringify(files)});`;
    writeFileSync(batch, `import { together } from "../test/support/together.ts";\n${call}\n`);
    return [batch];
  });
}

/** Each failure, with what to do about it. */
const failed: string[] = [];
async function run(remedy: string, program: string, ...args: string[]): Promise<void> {
  const [code] = (await once(spawn(program, args, { stdio: "inherit" }), "exit")) as [number | null];
  if (code !== 0) failed.push(remedy);
}

/** Runs files of tests, shows each as it ends, and then what failed in them. */
async function runTests(files: readonly string[]): Promise<void> {
  const args = [`--jobs=${JOBS}`, "--reporter=tap", `--timeout=${FILE_LIMIT * 3}`, ...files];
  const env = { ...process.env, SEALIFT_FILE_LIMIT: String(FILE_LIMIT) };
  const child = spawn("tap", args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const report = new TestReport();
  createInterface({ input: child.stderr }).on("line", (line) => {
    console.error(line);
    report.takeError(line);
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const shown = report.take(line);
    if (shown !== undefined) console.log(shown);
  }
  const failures = report.end();
  if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  for (const { file, title, details } of failures)
    console.log(`\n${file}: ${title}\n${details.map((line) => `  ${line}`).join("\n")}`);
  failed.push(...new Set(failures.map(({ file, title }) => `${file}: ${title}`)));
  if (failures.length === 0 && child.exitCode !== 0) failed.push(`tap ended with ${child.exitCode}`);
}

const { edited, holding, reaching } = nearestTests(changed);
/** Tells whether a test compares what users see with a file of it. There are few, and they are quick. */
const isGolden = (test: string): boolean => /^test\/(?:golden\/|docs\/named)/.test(test);
const first = [...edited, ...holding];
const all = [...new Set([...first, ...reaching.filter(isGolden), ...reaching])];
const tests = all.slice(0, Math.max(most, first.length));
const pages = pagesNaming(changed);
const code = changed.filter((file) => /\.(?:tsx?|js)$/.test(file) && !file.startsWith("examples/"));
console.log(
  `${changed.length} files differ from ${values.base}. Of ${all.length} files of tests that reach them, ${tests.length} ` +
    `run: first ${edited.length} that differ themselves, then ${holding.length} that hold a rule of the others; ` +
    `${pages.length} pages are typed.`,
);
/** Tells whether a generated page can differ: all are made from sources, and none from a test. */
const mayChangePages = changed.some((file) => /^(?:lib|scripts|docs)\//.test(file));
const needsBuild = pages.length > 0 || tests.some(startsPrograms);
await Promise.all([
  run("types: see above", "npm", "run", "--silent", "typecheck"),
  code.length > 0 && run("oxlint: oxlint --fix mends some", "oxlint", "--no-error-on-unmatched-pattern", ...code),
  code.length > 0 && run("eslint: eslint --fix mends some", "eslint", "--no-warn-ignored", ...code),
  changed.length > 0 &&
    run("format: prettier --write of the files above", "prettier", "--check", "--ignore-unknown", ...changed),
  mayChangePages && run("generated pages: npm run docs", process.execPath, "scripts/docs.ts", "--check"),
  needsBuild && run("build: see above", "npm", "run", "--silent", "build", "--", "--fast"),
]);
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
const files = [...new Set([...apart.filter((file) => edited.includes(file)), ...batches, ...apart])];
if (files.length > 0) await runTests(files);
if (tests.length < all.length) console.log(`Left to CI: ${all.length - tests.length} files of tests. --all runs them.`);
if (failed.length > 0) console.error(`\nFailed:\n${failed.map((what) => `- ${what}`).join("\n")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
