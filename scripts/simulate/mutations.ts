/**
 * Takes one clause of the rule after the other out of the product's code, and plays seeds until one breaks:
 * `node scripts/simulate/mutations.ts [--seeds 400] [--seed N] [--jobs N] [--only TEXT]`. Ends with 1 when a clause can
 * be left out unseen.
 */
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import PQueue from "p-queue";
import { scriptArguments } from "../arguments.ts";
import { MUTATIONS } from "./mutation-list.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    seeds: { type: "string", default: "400" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: `${availableParallelism()}` },
    only: { type: "string", default: "" },
  },
});
const program = fileURLToPath(new URL("mutant.ts", import.meta.url));
const queue = new PQueue({ concurrency: Number(values.jobs) });
let unseen = 0;
await queue.addAll(
  MUTATIONS.map(({ clause }, index) => async () => {
    if (!clause.includes(values.only)) return;
    const { stdout } = await promisify(execFile)(process.execPath, [program, `${index}`, values.seeds, values.seed]);
    const found = JSON.parse(stdout) as { seed: number; rule: string } | null;
    if (found === null) unseen++;
    const seeds = found && found.seed - Number(values.seed) + 1;
    console.log(`| ${clause} | ${seeds ?? "unseen"} | ${found?.rule ?? ""} |`);
  }),
);
console.log(unseen === 0 ? "every clause is needed" : `${unseen} clauses can be left out unseen`);
process.exitCode = unseen === 0 ? 0 : 1;
