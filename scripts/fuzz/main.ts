/**
 * `npm run fuzz -- [CASES] [SEED]`: archives, YAML, answers of a hub and frames of a sandbox that nobody thought of.
 * Says every few seconds how far it is. Ends with 1 when a case is found, and keeps it as a file.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptArguments } from "../arguments.ts";
import { fuzzAnswers } from "./answers.ts";
import { fuzzYaml } from "./documents.ts";
import { fuzzFrames } from "./frames.ts";
import { fuzzArchives } from "./judge-archive.ts";
import type { Cases, Finding, Outcome } from "./outcome.ts";

/** Milliseconds between two lines of progress. */
const PROGRESS_MS = 5_000;
/** Most findings of one kind kept as files: more of them have the same cause. */
const MAX_KEPT = 20;

const { positionals } = scriptArguments(import.meta.filename, { allowPositionals: true });
const [cases = 50_000, seed = Date.now() % 2 ** 31] = positionals.map(Number);
if (!(cases >= 100) || !Number.isSafeInteger(seed)) {
  console.error("CASES is a number from 100 on, SEED a whole number.");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "sealift-frames-"));
/** Kinds with their shares of all cases, by the value of the kind and the cost of a case. */
const runs: [name: string, share: number, run: (cases: Cases) => Promise<Outcome>][] = [
  ["archives", 0.4, (cases) => fuzzArchives(cases, 4)],
  ["YAML", 0.3, fuzzYaml],
  ["answers of a hub", 0.2, fuzzAnswers],
  ["frames of a sandbox", 0.1, (cases) => fuzzFrames(cases, folder)],
];

/** Runs the cases of one kind. @returns how many were found */
async function runKind(name: string, count: number, run: (cases: Cases) => Promise<Outcome>): Promise<number> {
  const began = performance.now();
  let told = began;
  let found = 0;
  const line = ({ cases: done, accepted }: Outcome): string =>
    `${done} cases, ${accepted} accepted, ${found} found, ${((performance.now() - began) / 1000).toFixed(1)} s`;
  const onFound = ({ kind, seed: at, why, bytes }: Finding): void => {
    if (++found > MAX_KEPT) return;
    writeFileSync(`fuzz-${at}.${kind}`, bytes);
    console.log(`seed ${at}: ${why}; kept as fuzz-${at}.${kind}`);
  };
  const onCase = (soFar: Outcome): void => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    console.log(`${name}, of ${count}: ${line(soFar)}`);
  };
  console.log(`${name}: ${line(await run({ count, seed, onFound, onCase }))}`);
  return found;
}

let bad = 0;
try {
  console.log(`${cases} cases from seed ${seed}`);
  for (const [name, share, run] of runs) bad += await runKind(name, Math.round(cases * share), run);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`at most ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`);
process.exitCode = bad === 0 ? 0 : 1;
