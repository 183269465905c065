import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Tests that have a process of their own (`.taprc`). */
export const APART = /^test\/(?:build|docs|end-to-end|faults|fuzz|ops|scripts)\//;
const IMPORTED = /(?:\bfrom |\bimport |\bimport\(|\bnew URL\()"(\.[^"]+)"/g;
const TEST = /\.test\.tsx?$/;
/** The line by which a test names the files or folders whose rule it holds, after the rule's name. */
const HOLDS = /^\/\/ Holds: .*$/gm;

/** Returns the files and folders of the product whose rules a test says that it holds. */
export function heldBy(test: string): string[] {
  const lines = readFileSync(test, "utf8").match(HOLDS) ?? [];
  return lines.flatMap((line) => line.match(/\b(?:bin|commands|lib|scripts)\/[\w./-]*\w/g) ?? []);
}

/** Returns the importers of each file, by import or by starting its path. */
function importers(files: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of files)
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

/**
 * Returns the test files that a change may break, those first that hold a rule of a changed file (`// Holds:`), then
 * those that reach one by their imports, the nearest first. The files of `test/batches` are left out.
 */
export function nearestTests(changed: readonly string[]): { holding: string[]; reaching: string[] } {
  const files = globSync("{bin,commands,lib,scripts,test,examples}/**/*.{ts,tsx}");
  const tests = files.filter((file) => TEST.test(file) && !file.startsWith("test/batches/"));
  const isHeld = (path: string): boolean => changed.some((file) => file === path || file.startsWith(`${path}/`));
  const holding = tests.filter((test) => heldBy(test).some(isHeld)).toSorted();
  const by = importers(files);
  const nearest = new Map<string, number>();
  for (const file of changed) {
    const steps = new Map([[file, 0]]);
    // A map is walked in the order in which it grows.
    for (const [reached, count] of steps)
      for (const importer of by.get(reached) ?? []) if (!steps.has(importer)) steps.set(importer, count + 1);
    for (const [test, count] of steps)
      if (TEST.test(test) && !test.startsWith("test/batches/") && !holding.includes(test))
        nearest.set(test, Math.min(nearest.get(test) ?? Infinity, distanceOf(test, file, count)));
  }
  return { holding, reaching: [...nearest].toSorted(([, a], [, b]) => a - b).map(([test]) => test) };
}
