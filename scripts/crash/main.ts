/**
 * `npm run crash -- [--durability full] [--limit N] [--seed N] [--scenario NAME]`: builds the states that a power cut
 * may leave of deployments, grants, trust roots and publications, starts the real programs on each, and checks that the
 * old or the new is there, whole. Ends with 1 when it is not.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { DURABILITIES } from "../../lib/contract/deployment-defaults.ts";
import { scriptArguments } from "../arguments.ts";
import { explore, linesOf, QUICK_FOLDER } from "./explore.ts";
import { grantScenario } from "./grants.ts";
import { hostScenarios } from "./host.ts";
import { HostWorld } from "./host-world.ts";
import { publishScenario, rotateScenario } from "./hub.ts";
import { rootScenario } from "./roots.ts";
import { hasStrace } from "./strace.ts";

const { values } = scriptArguments(import.meta.filename, {
  options: {
    durability: { type: "string", default: "full" },
    limit: { type: "string", default: "3000" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    scenario: { type: "string" },
  },
});
const durability = DURABILITIES.find((name) => name === values.durability);
const [limit, seed] = [Number(values.limit), Number(values.seed)];
if (durability === undefined || !Number.isSafeInteger(limit) || !Number.isSafeInteger(seed)) {
  console.error(`--durability is one of ${DURABILITIES.join(", ")}; --limit and --seed are whole numbers.`);
  process.exit(2);
}

const folder = await mkdtemp(join(QUICK_FOLDER, "sealift-crash-world-"));
let bad = 0;
try {
  await using world = await HostWorld.make(folder);
  console.log(`durability ${durability}, at most ${limit} states of each scenario, seed ${seed}`);
  const hubs = hasStrace() ? [publishScenario(), rotateScenario()] : [];
  if (hubs.length === 0)
    console.log("The hub is left out: its database can be traced by strace only, which is not here.");
  for (const scenario of [...hostScenarios(world), grantScenario(), rootScenario(), ...hubs]) {
    if (values.scenario !== undefined && values.scenario !== scenario.name) continue;
    const started = performance.now();
    const result = await explore(scenario, { durability, limit, seed, folder });
    bad += result.bad;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${linesOf(result).join("\n")}\n  ${seconds} s`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exitCode = bad === 0 ? 0 : 1;
