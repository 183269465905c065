/**
 * `npm run fuzz -- [CASES] [SEED]`: archives that nobody thought of. Ends with 1 when a case is found, and keeps
 * it as a file.
 */
import { writeFileSync } from "node:fs";
import { fuzzArchives } from "./run.ts";

const [cases = 50_000, seed = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number);
process.stdout.write(`${cases} cases from seed ${seed}\n`);
const { accepted, found } = await fuzzArchives(cases, seed);
for (const { kind, seed: at, why, bytes } of found) {
  writeFileSync(`fuzz-${at}.${kind}`, bytes);
  process.stdout.write(`seed ${at}: ${why}; kept as fuzz-${at}.${kind}\n`);
}
process.stdout.write(`${accepted} accepted, ${cases - accepted} refused, ${found.length} found\n`);
process.exitCode = found.length === 0 ? 0 : 1;
