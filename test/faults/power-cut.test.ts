// Only in test:all: power cuts at every step.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { explore, linesOf, QUICK_FOLDER } from "../../scripts/crash/explore.ts";
import { grantScenario } from "../../scripts/crash/grants.ts";
import { hostScenarios } from "../../scripts/crash/host.ts";
import { HostWorld } from "../../scripts/crash/host-world.ts";
import { rootScenario } from "../../scripts/crash/roots.ts";

/** A part of `npm run crash`: states that a file system may leave when the power goes, drawn by a seed. */
const folder = mkdtempSync(join(QUICK_FOLDER, "sealift-power-"));
const world = await HostWorld.make(folder);
t.teardown(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs whose states differ least from those of another one. */
const LEFT_TO_THE_SCRIPT = ["adoption of an application", "collection of applications"];

for (const scenario of [...hostScenarios(world), grantScenario(), rootScenario()]) {
  if (LEFT_TO_THE_SCRIPT.includes(scenario.name)) continue;
  t.test(`${scenario.name}: whatever a power cut leaves, the old or the new is there, whole`, async (t) => {
    const result = await explore(scenario, { durability: "full", limit: 16, seed: 1, folder });
    t.ok(result.checked >= Math.min(16, result.operations), `${result.checked} states`);
    t.same(linesOf(result).slice(1), []);
  });
}

t.test("the same states show what is lost when nothing is waited for", async (t) => {
  const upgrade = hostScenarios(world).find(({ name }) => name === "upgrade")!;
  const { violations } = await explore(upgrade, { durability: "none", limit: 16, seed: 1, folder });
  t.ok([...violations.keys()].some((fault) => /neither the old release nor the new one/.test(fault)));
});
