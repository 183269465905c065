/**
 * `npm run simulate -- [--seeds 20] [--seed N] [--hosts 10000]`: rollouts over a simulated fleet, one for each seed
 * from N on. Ends with 1 when a rule was broken; the seed that broke it plays it again.
 */
import { parseArgs } from "node:util";
import { simulate, timeDecision } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    hosts: { type: "string", default: "10000" },
  },
});
const [seeds, first, hosts] = [Number(values.seeds), Number(values.seed), Number(values.hosts)];
if (![seeds, first, hosts].every((value) => Number.isSafeInteger(value) && value > 0)) {
  console.error("--seeds, --seed and --hosts are whole numbers above 0.");
  process.exit(2);
}
const begun = performance.now();
let broken = 0;
let most = 0;
for (let seed = first; seed < first + seeds; seed++) {
  const { isBad, state, firstWave, reached, tookMs, faults } = simulate(seed, hosts);
  most = Math.max(most, reached);
  const what = isBad ? `bad, reached ${reached} hosts (first wave ${firstWave})` : "good";
  console.log(`seed ${seed}: ${what}, ${state} after ${Math.round(tookMs / 60_000)} min`);
  for (const fault of faults) console.log(`  FAULT ${fault}`);
  if (faults.length > 0) broken++;
}
const minutes = (performance.now() - begun) / 60_000;
console.log(`${(seeds / minutes).toFixed(1)} seeds a minute; a bad version reached ${most} of ${hosts} hosts at most`);
console.log(`a decision over 100000 hosts takes ${timeDecision(100_000).toFixed(1)} ms`);
console.log(broken === 0 ? "no rule was broken" : `${broken} seeds broke a rule`);
process.exitCode = broken === 0 ? 0 : 1;
