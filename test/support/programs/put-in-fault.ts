/**
 * Loaded with `--import`, changes one place of the product's sources while they are loaded: `SEALIFT_PUT_IN` is JSON
 * with `file`, and the text to `find` there once and `replace`.
 */
import { registerHooks } from "node:module";

const { file, find, replace } = JSON.parse(process.env["SEALIFT_PUT_IN"]!) as Record<
  "file" | "find" | "replace",
  string
>;
const { href } = new URL(`../../../${file}`, import.meta.url);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (url !== href) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString();
    if (source.split(find).length !== 2) throw new Error(`${file} has not once: ${find}`);
    return { ...loaded, source: source.replace(find, () => replace) };
  },
});
