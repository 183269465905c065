/**
 * `npm run fuzz -- [CASES] [SEED]`: archives, YAML, answers of a hub and frames of a sandbox that nobody thought of.
 * Ends with 1 when a case is found, and keeps it as a file.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fuzzAnswers } from "./answers.ts";
import { fuzzYaml } from "./documents.ts";
import { fuzzFrames } from "./frames.ts";
import { fuzzArchives } from "./judge-archive.ts";
import type { Outcome } from "./outcome.ts";

/** Resident memory of this process at its most, however many cases there are: MB. */
const MAX_RESIDENT_MB = 600;

const [cases = 50_000, seed = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number);
if (!(cases >= 100) || !Number.isSafeInteger(seed)) {
  console.error("CASES is a number from 100 on, SEED a whole number.");
  process.exit(2);
}
/** A part of all cases, by what the kind is worth and what a case takes. */
const part = (share: number): number => Math.round(cases * share);
const folder = mkdtempSync(join(tmpdir(), "sealift-frames-"));
const runs: [name: string, run: () => Promise<Outcome>][] = [
  ["archives", () => fuzzArchives(part(0.4), seed, 4)],
  ["YAML", () => fuzzYaml(part(0.3), seed)],
  ["answers of a hub", () => fuzzAnswers(part(0.2), seed)],
  ["frames of a sandbox", () => fuzzFrames(part(0.1), seed, folder)],
];
let bad = 0;
try {
  console.log(`${cases} cases from seed ${seed}`);
  for (const [name, run] of runs) {
    const started = performance.now();
    const { cases: count, accepted, found } = await run();
    bad += found.length;
    for (const { kind, seed: at, why, bytes } of found.slice(0, 20)) {
      writeFileSync(`fuzz-${at}.${kind}`, bytes);
      console.log(`seed ${at}: ${why}; kept as fuzz-${at}.${kind}`);
    }
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${name}: ${count} cases, ${accepted} accepted, ${found.length} found, ${seconds} s`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const residentMb = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(`at most ${residentMb} MB`);
process.exitCode = bad === 0 && residentMb <= MAX_RESIDENT_MB ? 0 : 1;
