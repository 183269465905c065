import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

/** `npm run check -- --without NAME`: what a copy of the sources is worth without a feature of the hub. */

/** Rooms in which a feature has a folder or a file of its name. */
const ROOMS = ["lib/contract", "lib/hub", "lib/web", "lib/options", "lib/client", "commands", "test/support"];
/** Rooms where only a whole folder is a feature's. */
const FOLDER_ROOMS = ["lib/agent", "lib/tui"];
/** The lists of features. A feature's lines in them go with it. */
const LISTS = [
  ...["lib/hub/features.ts", "lib/web/features.ts", "lib/options/all.ts", "lib/options/hub.ts"],
  ...["lib/options/publish.ts", "lib/options/marketplace.ts", "commands/publishing/features.ts"],
  ...["lib/agent/newest/ask-hub.ts", "commands/shell/registry.ts", "test/support/hub/features.ts"],
];
/** The folders of the tests of those rooms, and the files that run all of them. */
const TESTS = ["test/lib/hub", "test/lib/web", "test/commands"];
const BATCHES = ["hub", "hub-rooms", "web", "commands"].map((name) => `test/batches/${name}.test.ts`);
/** Arguments of Node that each test has (`.taprc`). */
const TEST_ARGUMENTS = [
  ...["--require=./test/support/unrecorded.ts", "--import=./test/support/tsx.ts"],
  ...["--disable-warning=ExperimentalWarning", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"],
];
/** Lines of TAP that say that all is well. */
const WELL = /^\s*(?:$|ok \d|\d+\.\.\d|# Subtest|TAP version)/;
const SOURCES = "{bin,commands,lib,scripts,test}/**/*.{ts,tsx}";

/** Returns the files of a feature: a folder or file of its name is on their path. */
const filesOf = (name: string, rooms: readonly string[], ending: string, cwd: string): string[] =>
  rooms.flatMap((room) => globSync([`${room}/**/${name}/**/*${ending}`, `${room}/**/${name}${ending}`], { cwd }));

/** Whether a file only tries the product: then it goes with what it imports. */
const isCheck = (path: string): boolean => /\.test\.tsx?$/.test(path) || path.startsWith("scripts/");

/** The line by which a test says that it holds all features together, and what of them. It goes with any of them. */
const ACROSS = /^\/\/ Across features: /m;

const isImport = (node: ts.Node): node is ts.ImportDeclaration | ts.ExportDeclaration =>
  ts.isImportDeclaration(node) || ts.isExportDeclaration(node);

/** Returns the paths that a file imports, in the repository. */
function importsOf(path: string, text: string): string[] {
  const found = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);
  return found.filter((name) => name.startsWith(".")).map((name) => normalize(join(dirname(path), name)));
}

/** Returns a list without the imports of removed files, and without what they contributed. */
export function withoutLines(path: string, text: string, removed: ReadonlySet<string>): string {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const names = new Set<string>();
  const cuts: [from: number, to: number][] = [];
  for (const statement of file.statements) {
    if (!isImport(statement) || statement.moduleSpecifier === undefined) continue;
    const target = (statement.moduleSpecifier as ts.StringLiteral).text;
    if (!removed.has(normalize(join(dirname(path), target)))) continue;
    cuts.push([statement.getStart(file), statement.end + 1]);
    const visit = (node: ts.Node): void =>
      void (ts.isIdentifier(node) ? names.add(node.text) : node.forEachChild(visit));
    statement.forEachChild(visit);
  }
  const visit = (node: ts.Node): void => {
    if (isImport(node)) return;
    if (ts.isIdentifier(node) && names.has(node.text)) cuts.push(cutOf(node, text));
    node.forEachChild(visit);
  };
  visit(file);
  return cuts.toSorted(([a], [b]) => b - a).reduce((left, [from, to]) => left.slice(0, from) + left.slice(to), text);
}

/**
 * Returns the range, with its comma, of a list's element that is a name, or spreads what the name stands for or
 * returns.
 */
function cutOf(name: ts.Node, text: string): [from: number, to: number] {
  const called = ts.isCallExpression(name.parent) ? name.parent : name;
  const { parent } = called;
  const isInner =
    ts.isSpreadElement(parent) || ts.isSpreadAssignment(parent) || ts.isExpressionWithTypeArguments(parent);
  const node = isInner ? parent : called;
  const [start, end] = [node.getStart(), node.end];
  const [after = ""] = /^\s*,\s*/.exec(text.slice(end)) ?? [];
  if (after !== "") return [start, end + after.length];
  const [before = ""] = /\s*,\s*$/.exec(text.slice(0, start)) ?? [];
  return [start - before.length, end];
}

/** Copies tracked and new files, with the installed packages. */
function copyTo(folder: string): void {
  const { stdout } = spawnSync("git", ["ls-files", "-co", "--exclude-standard"], { encoding: "utf8" });
  for (const path of stdout.split("\n")) if (path !== "" && existsSync(path)) cpSync(path, join(folder, path));
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
}

/** Runs a batch of tests in a copy, and prints what failed. @returns whether nothing did */
function holds(batch: string, cwd: string): boolean {
  console.log(`${batch} …`);
  // The runner of tap would run the tests of the folder that its plugins were built in.
  const { status, stdout } = spawnSync(process.execPath, [...TEST_ARGUMENTS, batch], {
    ...{ cwd, encoding: "utf8", maxBuffer: Infinity, stdio: ["inherit", "pipe", "inherit"] },
  });
  for (const line of stdout.split("\n")) if (!WELL.test(line)) console.log(line);
  return status === 0;
}

/** Features that others are made of, which stay. */
const STAYING: Readonly<Record<string, string>> = {
  statements: "hosts' policies (lib/agent/policy) are decided from them",
};

/** Returns the names of the features of the hub, or of those that a folder or file of these paths is called after. */
export function featuresIn(paths?: readonly string[]): string[] {
  const names = readdirSync("lib/hub/features", { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const isIn = (name: string) => paths?.some((path) => path.split(/[/.]/).includes(name)) ?? true;
  const found = names.map(({ name }) => name).filter((name) => isIn(name));
  for (const name of found) if (name in STAYING) console.log(`${name} stays: ${STAYING[name]}.`);
  return found.filter((name) => !(name in STAYING));
}

/**
 * Removes a feature of the hub from a copy of the sources: its folders, its lines of the lists, and its tests. Prints
 * what still imports it, the faults of the type checker, and how the tests of its rooms went.
 *
 * @param withTests false for the types only
 * @returns whether nothing needs the feature
 */
export function checkWithout(name: string, withTests: boolean): boolean {
  if (filesOf(name, ROOMS, ".{ts,tsx}", ".").length === 0) {
    console.error(`No folder or file is called ${name} in ${ROOMS.join(", ")}.`);
    process.exit(2);
  }
  const cwd = mkdtempSync(join(tmpdir(), `sealift-without-${name}-`));
  // Of a root's tests some run code as another user, who reads the copy.
  chmodSync(cwd, 0o755);
  try {
    copyTo(cwd);
    const folders = FOLDER_ROOMS.flatMap((room) => globSync(`${room}/${name}/**/*.{ts,tsx}`, { cwd }));
    const removed = new Set([...filesOf(name, ROOMS, ".{ts,tsx}", cwd), ...folders]);
    const read = (path: string): string => readFileSync(join(cwd, path), "utf8");
    for (const path of removed) rmSync(join(cwd, path));
    for (const path of LISTS) writeFileSync(join(cwd, path), withoutLines(path, read(path), removed));
    const sources = globSync(SOURCES, { cwd });
    const importers = sources.filter((path) => importsOf(path, read(path)).some((target) => removed.has(target)));
    const across = TESTS.flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd })).filter((path) =>
      ACROSS.test(read(path)),
    );
    const own = filesOf(name, TESTS, ".test.{ts,tsx}", cwd);
    const checks = new Set([...own, ...across, ...importers.filter(isCheck)]);
    // A set is walked in the order in which it grows.
    for (const gone of checks)
      for (const path of sources.filter(isCheck)) if (importsOf(path, read(path)).includes(gone)) checks.add(path);
    for (const path of checks) rmSync(join(cwd, path));
    console.log(`Without ${name}: ${removed.size} files, and ${checks.size} of tests and scripts.`);
    const left = importers.filter((path) => !isCheck(path));
    for (const path of left) console.log(`${path} imports it.`);
    const run = (program: string, ...args: string[]): boolean =>
      spawnSync(program, args, { cwd, stdio: "inherit" }).status === 0;
    const typed = run("npm", "run", "--silent", "typecheck");
    if (!typed || left.length > 0 || !withTests) return typed && left.length === 0;
    // Some start programs of dist/, and some read their manual.
    if (!run("npm", "run", "--silent", "build", "--", "--fast")) return false;
    if (!run(process.execPath, "scripts/manual.ts")) return false;
    return BATCHES.filter((batch) => !holds(batch, cwd)).length === 0;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
