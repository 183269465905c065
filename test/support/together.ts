/**
 * Runs the test files of a folder in one process. A process of its own costs each file most of a second: tap, the
 * types that Node strips, and much of the product are loaded anew. Each file stays a test of its own, by its path, and
 * can be run alone with `npx tap FILE`.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
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
 * Most time of a processor that a file of the core may take, in seconds. The longest takes 7 where nothing else runs,
 * and four times as much on a virtual machine whose neighbours are busy: their time counts as ours there.
 */
const SHARE = 60;

/** Fails for a file that people should not wait for at each `npm test`. */
function holdToShare(file: string, seconds: number): void {
  if (seconds <= SHARE) return;
  const took = `${file} took ${Math.round(seconds)} s of a processor`;
  t.fail(`${took}: let it do less, or leave it out of the core by "// Only in test:all: <why>"`);
}

/** Returns the time of processors that this process and its ended children have taken; 0 without /proc. */
function processorSeconds(): number {
  if (!existsSync("/proc/self/stat")) return 0;
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  // utime, stime, cutime and cstime in ticks, of which Linux has a hundred a second (proc(5)).
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

/** Seconds that a file may take (`SEALIFT_FILE_LIMIT`, set by `npm run check`), or none. */
const limit = Number(process.env["SEALIFT_FILE_LIMIT"] ?? 0) || undefined;

/**
 * Watches the files from a thread of its own. Kills the process when a file exceeds its limit and does not even hear of
 * that, since it never waits.
 *
 * @returns takes the name of each file that begins or ends in this process
 */
function watchForLoops(seconds: number): (file: string, what: "begins" | "ends") => void {
  const source = `
    let timer, watched;
    require("node:worker_threads").parentPort.on("message", ({ file, what }) => {
      // The end of a file may be told after the next one has begun.
      if (what === "ends" && file !== watched) return;
      clearTimeout(timer);
      watched = file;
      if (what === "begins") timer = setTimeout(() => {
        require("node:fs").writeSync(2, file + " does not end\\n");
        process.kill(process.pid, "SIGKILL");
      }, ${(seconds + 2) * 1000});
    });`;
  const worker = new Worker(source, { eval: true, execArgv: [] });
  worker.unref();
  return (file, what) => worker.postMessage({ file, what });
}

/**
 * Runs every test file that matches the patterns, relative to the repository, one after the other: the files of each
 * pattern in the order of their names, and of them those of the part that `SEALIFT_TESTS` names (scripts/test.ts), all
 * of them without it.
 */
export function together(...patterns: readonly string[]): void {
  t.setTimeout(1_200_000);
  const part = (process.env["SEALIFT_TESTS"] ?? "all") as Selection;
  const files = new Set(patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).toSorted()));
  const watch = limit === undefined ? undefined : watchForLoops(limit);
  const ended: Promise<unknown>[] = [];
  for (const file of filesOf(part, [...files], root)) {
    if (ALONE.test(readFileSync(`${root}${file}`, "utf8"))) {
      const options = { cwd: root, ...(limit !== undefined && { timeout: limit * 1000 }) };
      ended.push(t.spawn(process.execPath, [...process.execArgv, file], options, file));
      continue;
    }
    const { href } = pathToFileURL(`${root}${file}`);
    let before = 0;
    const tested = t.test(file, { ...(limit !== undefined && { timeout: limit * 1000 }) }, async (t) => {
      tests.set(href, t);
      watch?.(file, "begins");
      before = processorSeconds();
      await import(href);
    });
    ended.push(tested);
    void tested.then(() => watch?.(file, "ends"));
    if (part === "core") void tested.then(() => holdToShare(file, processorSeconds() - before));
  }
  // What a file that exceeded its limit still waits for holds up nobody.
  if (limit !== undefined) void Promise.allSettled(ended).then(() => setTimeout(() => process.exit(), 1000).unref());
}
