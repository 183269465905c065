/**
 * Loaded with `--import`, changes one place of the product's sources while they are loaded: `PUT_IN_FAULT` is JSON with
 * `file`, and the text to `find` there once and `replace`. Programs that a test starts from the sources get it, too.
 */
import { registerHooks } from "node:module";
import processOnSpawn from "process-on-spawn";

// Named unlike our own variables, of which the command line reads each.
const { file, find, replace, isOfChild } = JSON.parse(process.env["PUT_IN_FAULT"]!) as Record<
  "file" | "find" | "replace",
  string
> & { isOfChild?: true };
const { href } = new URL(`../../../${file}`, import.meta.url);

// What such a program starts has the environment that the product gives it.
if (isOfChild === undefined)
  processOnSpawn.addListener((started) => {
    const runsSources = started.args.some((argument) => /\.tsx?$/.test(argument));
    if (!runsSources || started.args.includes("--permission")) return;
    started.env = {
      ...started.env,
      NODE_OPTIONS: `${started.env["NODE_OPTIONS"] ?? ""} --import=${import.meta.url}`,
      PUT_IN_FAULT: JSON.stringify({ file, find, replace, isOfChild: true }),
    };
  });

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (url !== href) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString();
    if (source.split(find).length !== 2) throw new Error(`${file} has not once: ${find}`);
    return { ...loaded, source: source.replace(find, () => replace) };
  },
});
