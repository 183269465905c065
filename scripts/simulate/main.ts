/**
 * `npm run simulate -- [--seeds 100] [--seed N] [--hosts N] [--minutes M]`: operators, their fleets and two hubs, one
 * plan for each seed from N on. Ends with 1 when a rule was broken, and says which, by what, and by which seed.
 *
 * `--hosts` is the size of the fleet, 5 to 20 by default; `--minutes` is the longest plan, 120 by default. With
 * `--for M` it takes further seeds for M minutes of this machine's time.
 */
import { scriptArguments } from "../arguments.ts";
import { openSimulated } from "./furnish.ts";
import { planOf } from "./plan.ts";
import { play } from "./play.ts";
import { shrink } from "./shrink.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    seeds: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    hosts: { type: "string" },
    minutes: { type: "string", default: "120" },
    for: { type: "string" },
  },
});
const [seeds, first, minutes] = [Number(values.seeds), Number(values.seed), Number(values.minutes)];
const hosts = values.hosts === undefined ? undefined : Number(values.hosts);
const budgetMs = values.for === undefined ? undefined : Number(values.for) * 60_000;
if (![seeds, first, minutes, hosts ?? 1].every((value) => Number.isSafeInteger(value) && value > 0)) {
  console.error("--seeds, --seed, --hosts and --minutes are whole numbers above 0.");
  process.exit(2);
}
if (budgetMs !== undefined && !(budgetMs > 0)) {
  console.error("--for is a number of minutes above 0.");
  process.exit(2);
}

const begun = performance.now();
const { database, close } = await openSimulated();
const ended: Record<string, number> = {};
let [broken, polls, seed] = [0, 0, first];
const isOver = (): boolean =>
  budgetMs === undefined ? seed >= first + seeds : performance.now() - begun > budgetMs || broken > 20;
try {
  for (; !isOver(); seed++) {
    const plan = planOf(seed, hosts, minutes);
    const played = await play(database, plan);
    polls += played.polls;
    for (const state of played.rollouts) ended[state] = (ended[state] ?? 0) + 1;
    if (played.broken === undefined) continue;
    broken++;
    const { steps, broken: rule } = await shrink(database, plan, played);
    console.log(`seed ${seed} (${plan.kind}, ${plan.hosts.length} hosts) broke a rule:`);
    for (const step of steps) console.log(`  ${step}`);
    console.log(`  BROKEN ${rule!.message}`);
  }
} finally {
  await close();
}
const states = Object.entries(ended).map(([state, count]) => `${count} ${state}`);
const took = ((performance.now() - begun) / 1000).toFixed(0);
console.log(`${seed - first} seeds in ${took} s, ${polls} polls; rollouts at the end: ${states.join(", ")}`);
console.log(broken === 0 ? "no rule was broken" : `${broken} seeds broke a rule`);
process.exitCode = broken === 0 ? 0 : 1;
