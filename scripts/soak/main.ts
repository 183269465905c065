/**
 * `npm run soak -- [--minutes 20] [--seed N]`: a hub, a publisher, an agent, a watch and a runtime for minutes, each of
 * them killed at random. Ends with 1 when a release is wrong, a publication is lost, or anything grows or is left.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptArguments } from "../arguments.ts";
import { soak } from "./soak.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    minutes: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error("--minutes is a number above 0, --seed a whole number.");
  process.exit(2);
}
const folder = await mkdtemp(join(tmpdir(), "sealift-soak-"));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
try {
  console.log(`${minutes} minutes, seed ${seed}`);
  const { lines, faults } = await soak({ folder, durationMs: minutes * 60_000, seed });
  for (const line of lines) console.log(line);
  for (const [fault, count] of faults) console.log(`FAULT ${count} × ${fault}`);
  console.log(faults.size === 0 ? "nothing is wrong" : `${faults.size} kinds of faults`);
  process.exitCode = faults.size === 0 ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
