/**
 * `node scripts/lanes.ts FILE`: sums up a trace that SEALIFT_PIPELINE_TRACE=FILE made of a deployment or publication.
 * Says of each lane how long it was busy, and for which lanes it waited how long, in milliseconds.
 */
import { readFileSync } from "node:fs";
import { scriptArguments } from "./arguments.ts";
import { inColumns } from "./bench/row.ts";

interface TraceEvent {
  name: string;
  ph: "M" | "X" | "C";
  pid: number;
  tid: number;
  dur?: number;
  args: { name?: string; filled?: number; waits?: Record<string, number>; thread_idle?: number };
}

const { positionals } = scriptArguments(import.meta.filename, { allowPositionals: true });
const [file] = positionals;
if (file === undefined) {
  console.error("Name the file of a trace. --help shows what there is.");
  process.exit(2);
}
const events = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line.replace(/,$/, "")) as TraceEvent);
const ms = (milliseconds: number): string => milliseconds.toFixed(0);
const rows = Map.groupBy(events, ({ pid, tid }) => `${pid} ${tid}`)
  .values()
  .flatMap((own) => {
    const lane = own.find(({ ph }) => ph === "M")!.args.name!;
    const { dur = 0, args } = own.find(({ name }) => name === "lane")!;
    const waits = Object.entries(args.waits!);
    const filled = own.flatMap(({ name, args: { filled: slots } }) =>
      name === "ring" && slots !== undefined ? [slots] : [],
    );
    return [
      [
        ...[lane, ms(dur / 1000), ms(dur / 1000 - waits.reduce((sum, [, waited]) => sum + waited, 0))],
        waits.map(([cause, waited]) => `${cause} ${ms(waited)}`).join(", "),
        filled.length === 0 ? "" : (filled.reduce((sum, slots) => sum + slots, 0) / filled.length).toFixed(1),
        ms(args.thread_idle!),
      ],
    ];
  });
console.log(inColumns([["lane", "ms", "not waiting", "waited for", "slots filled", "thread idle"], ...rows]));
