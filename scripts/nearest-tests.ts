import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, extname, join, normalize } from "node:path";
import { commandsIn, typedIn } from "./typed-commands.ts";

/** Tests that have a process of their own (`.taprc`). */
export const APART = /^test\/(?:build|docs|end-to-end|faults|fuzz|ops|scripts)\//;
const IMPORTED = /(?:\bfrom |\bimport |\bimport\(|\bnew URL\()"(\.[^"]+)"/g;
const TEST = /\.test\.tsx?$/;
/** The lines by which a test names the files or folders whose rule it holds, in brackets after the rule's name. */
const HOLDS = /^\/\/ Holds: [^(]*\(([^)]*)\)$/gm;
const PATH = /(?<=^|[\s,])(?:bin|commands|docs|lib|scripts|[A-Z]+\.md)\b[\w./-]*(?<=\w)/g;

/** Returns the files and folders whose rules a test says that it holds. */
export function heldBy(test: string): string[] {
  const held = readFileSync(test, "utf8").matchAll(HOLDS);
  return [...held].flatMap(([, paths]) => paths!.match(PATH) ?? []);
}

/** Returns what a file imports, or starts by its path. */
const importsOf = (file: string): string[] =>
  [...readFileSync(file, "utf8").matchAll(IMPORTED)].map(([, path]) => normalize(join(dirname(file), path!)));

/** Returns the files that use each file: they import it, start its path, or are tests that type a command of it. */
function usersOf(files: readonly string[]): Map<string, string[]> {
  const declared = new Map(
    files
      .filter((file) => file.startsWith("commands/"))
      .flatMap((file) => commandsIn(file).map((command) => [command, file] as const)),
  );
  const commands = new Set(declared.keys());
  const found = new Map<string, string[]>();
  for (const file of files) {
    const typed = file.startsWith("test/") ? typedIn(readFileSync(file, "utf8"), commands) : [];
    for (const used of new Set([...importsOf(file), ...[...typed].map((command) => declared.get(command)!)]))
      found.set(used, [...(found.get(used) ?? []), file]);
  }
  return found;
}

/** Tells whether a test starts programs of `dist/`: it names that folder, or a helper does that it imports. */
export function startsPrograms(test: string): boolean {
  // A set is walked in the order in which it grows.
  const reached = new Set([test]);
  for (const file of reached) {
    if (/\bdist\//.test(readFileSync(file, "utf8"))) return true;
    for (const imported of importsOf(file))
      if (imported.startsWith("test/") && extname(imported) !== "" && existsSync(imported)) reached.add(imported);
  }
  return false;
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

/** Test files that a change may break. Each stands in one list only; the files of `test/batches` in none. */
export interface NearestTests {
  /** The change edits them. */
  edited: string[];
  /** They hold a rule of a changed file (`// Holds:`). */
  holding: string[];
  /** They reach a changed file by their imports, or by the commands that they type, the nearest first. */
  reaching: string[];
}

/** Read once: all sources are, and `npm run break-rules` asks for each rule. */
let users: ReturnType<typeof usersOf> | undefined;

/** Returns the test files that a change may break, in the order in which they are worth running. */
export function nearestTests(changed: readonly string[]): NearestTests {
  const files = globSync("{bin,commands,lib,scripts,test,examples}/**/*.{ts,tsx}");
  const tests = files.filter((file) => TEST.test(file) && !file.startsWith("test/batches/"));
  const isHeld = (path: string): boolean => changed.some((file) => file === path || file.startsWith(`${path}/`));
  const edited = tests.filter((test) => changed.includes(test)).toSorted();
  const holding = tests.filter((test) => !edited.includes(test) && heldBy(test).some(isHeld)).toSorted();
  const before = new Set([...edited, ...holding]);
  users ??= usersOf(files);
  const nearest = new Map<string, number>();
  for (const file of changed) {
    const steps = new Map([[file, 0]]);
    // A map is walked in the order in which it grows.
    for (const [reached, count] of steps)
      for (const user of users.get(reached) ?? []) if (!steps.has(user)) steps.set(user, count + 1);
    for (const [test, count] of steps)
      if (TEST.test(test) && !test.startsWith("test/batches/") && !before.has(test))
        nearest.set(test, Math.min(nearest.get(test) ?? Infinity, distanceOf(test, file, count)));
  }
  return { edited, holding, reaching: [...nearest].toSorted(([, a], [, b]) => a - b).map(([test]) => test) };
}
