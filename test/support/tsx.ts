/**
 * Node strips types from `.ts` only: this hook, given to tap as a node argument, lets tests import `.tsx` as well.
 * Every worker thread of the product runs it, too, so esbuild is loaded by the first `.tsx` and not before.
 */
import { globSync, readFileSync, statSync } from "node:fs";
import { createRequire, enableCompileCache, registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type esbuild from "esbuild";
import processOnSpawn from "process-on-spawn";

// Every test file loads much of the product: stripped of its types and compiled once, not some hundred times.
const compiled = fileURLToPath(new URL("../../node_modules/.cache/sealift-tests", import.meta.url));
enableCompileCache({ directory: compiled, portable: true });

// tap writes down what each process loads, for coverage, which is off here, and has each program that a test starts do
// so, too. That would cost every one a tenth of a second, and its hooks would stand between it and its compiled code.
const recorder = /\s*"?--import=\S*@tapjs\/processinfo\/\S*?"?(?=\s|$)/g;
const withoutRecorder = (options = ""): string => options.replace(recorder, "");
processOnSpawn.addListener((started) => {
  const { NODE_OPTIONS, ...env } = started.env;
  const options = withoutRecorder(NODE_OPTIONS);
  // Not for sandboxes, which could not write there, and whose environment is looked at.
  const runsSources =
    started.args.some((argument) => /\.tsx?$/.test(argument)) && !started.args.includes("--permission");
  started.env = {
    ...env,
    ...(options !== "" && { NODE_OPTIONS: options }),
    ...(runsSources && { NODE_COMPILE_CACHE: compiled, NODE_COMPILE_CACHE_PORTABLE: "1" }),
  };
});

/** The newest of some files was written then; 0 for those that are not there. */
const written = (...paths: readonly string[]): number =>
  Math.max(...paths.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0));

const root = fileURLToPath(new URL("../../", import.meta.url));
const guestSources = new URL("../../lib/runtime/sandbox/guest-files.ts", import.meta.url).href;
const guestBuild = new URL("./runtime/built-guest.ts", import.meta.url).href;
const tapDomain = new URL("./tap-domain.ts", import.meta.url).href;
const guestIsBuilt = (): boolean =>
  written(`${root}dist/lib/guest/bootstrap.js`) >
  written(...globSync(["lib/{runtime,sdk,contract}/**/*.ts"], { cwd: root }).map((path) => root + path));

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier === "async-hook-domain") return { url: tapDomain, format: "module-typescript", shortCircuit: true };
    const resolved = nextResolve(specifier, context);
    return resolved.url === guestSources && guestIsBuilt() ? { ...resolved, url: guestBuild } : resolved;
  },
  load(url, context, nextLoad) {
    if (!url.endsWith(".tsx")) return nextLoad(url, context);
    const { transformSync } = createRequire(import.meta.url)("esbuild") as typeof esbuild;
    const { code } = transformSync(readFileSync(fileURLToPath(url), "utf8"), {
      loader: "tsx",
      jsx: "automatic",
      format: "esm",
      target: "node24",
      sourcemap: "inline",
    });
    return { format: "module", source: code, shortCircuit: true };
  },
});
