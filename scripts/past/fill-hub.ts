/**
 * Fills a data folder with the hub of an older checkout, which that checkout's own tests know how to fill: every column
 * of every table has a value then. Arguments: the checkout and the data folder.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

interface Filler {
  fullHub: (t: unknown, dataDir: string) => Promise<unknown>;
  emptyColumns: (dataDir: string) => string[];
}

const [checkout, dataDir] = process.argv.slice(2) as [string, string];
const file = join(checkout, "test/support/hub/full-hub.ts");
const { fullHub, emptyColumns } = (await import(pathToFileURL(file).href)) as Filler;
const endings: (() => unknown)[] = [];
await fullHub({ teardown: (ending: () => unknown) => endings.push(ending) }, dataDir);
for (const end of endings.toReversed()) await end();
const empty = emptyColumns(dataDir);
if (empty.length > 0) throw new Error(`without a value: ${empty.join(", ")}`);
process.exit();
