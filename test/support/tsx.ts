/** Node strips types from `.ts` only: this hook, given to tap as a node argument, lets tests import `.tsx` as well. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

registerHooks({
  load(url, context, nextLoad) {
    if (!url.endsWith(".tsx")) return nextLoad(url, context);
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
