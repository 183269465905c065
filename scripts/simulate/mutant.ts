/** A program that plays seeds against the product without one clause, until a rule breaks. Prints it as JSON. */
import { registerHooks } from "node:module";
import { MUTATIONS } from "./mutation-list.ts";

const [index, seeds, first] = process.argv.slice(2).map(Number) as [number, number, number];
const { file, edits } = MUTATIONS[index]!;
const pathOf = (name: string): string => new URL(`../../lib/hub/${name}`, import.meta.url).href;
let applied = 0;
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = edits.filter(([, , other = file]) => pathOf(other) === url);
    if (own.length === 0) return loaded;
    let source = Buffer.from(loaded.source as Uint8Array).toString();
    for (const [find, replace] of own) {
      if (source.split(find).length !== 2) throw new Error(`${url} has not once: ${find}`);
      source = source.replace(find, () => replace);
      applied++;
    }
    return { ...loaded, source };
  },
});

const { openSimulated } = await import("./furnish.ts");
const { play } = await import("./play.ts");
const { planOf } = await import("./plan.ts");
const { database, close } = await openSimulated();
let found: { seed: number; rule: string } | undefined;
for (let seed = first; seed < first + seeds && found === undefined; seed++) {
  const rule = await play(database, planOf(seed)).then(
    ({ broken }) => broken?.rule,
    (error: unknown) => `it throws: ${(error as Error).message}`,
  );
  if (rule !== undefined) found = { seed, rule };
}
await close();
if (applied !== edits.length) throw new Error(`${file} was not loaded`);
console.log(JSON.stringify(found ?? null));
