/**
 * Runs the test files of a folder in one process. A process of its own costs each file most of a second: tap, the
 * types that Node strips, and much of the product are loaded anew. Each file stays a test of its own, by its path, and
 * can be run alone with `npx tap FILE`.
 */
import { globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import t, { type Test } from "tap";
import { filesOf, type Selection } from "./selection.ts";

/** The line by which a file asks for a process of its own, since it measures or changes one. It says why. */
const ALONE = /^\/\/ In a process of its own: /m;
const root = fileURLToPath(new URL("../../", import.meta.url));

/** The test that a file's `import t from "tap"` gets, by the file's URL. */
const tests = new Map<string, Test>();
Object.assign(globalThis, { sealiftTestOf: (url: string) => tests.get(url) });

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "tap" || !tests.has(context.parentURL ?? "")) return next(specifier, context);
    return { url: `tap-of:${encodeURIComponent(context.parentURL!)}`, format: "module", shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith("tap-of:")) return next(url, context);
    const file = JSON.stringify(decodeURIComponent(url.slice("tap-of:".length)));
    return { format: "module", source: `export default sealiftTestOf(${file})`, shortCircuit: true };
  },
});

/**
 * Runs every test file that matches the patterns, relative to the repository, one after the other: those of the part
 * that `SEALIFT_TESTS` names (scripts/test.ts), all of them without it.
 */
export function together(...patterns: readonly string[]): void {
  t.setTimeout(1_200_000);
  const part = (process.env["SEALIFT_TESTS"] ?? "all") as Selection;
  for (const file of filesOf(part, globSync([...patterns], { cwd: root }).toSorted(), root)) {
    if (ALONE.test(readFileSync(`${root}${file}`, "utf8"))) {
      void t.spawn(process.execPath, [...process.execArgv, file], { cwd: root }, file);
      continue;
    }
    const { href } = pathToFileURL(`${root}${file}`);
    void t.test(file, async (t) => {
      tests.set(href, t);
      await import(href);
    });
  }
}
