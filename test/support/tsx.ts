/**
 * Node strips types from `.ts` only: this hook, given to tap as a node argument, lets tests import `.tsx` as well. Every worker thread of
 * the product runs it, too, so esbuild is loaded by the first `.tsx` and not before.
 */
import { readFileSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type esbuild from "esbuild";

registerHooks({
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
