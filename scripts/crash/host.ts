import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { HostFacts, type Installed, installed } from "./host-facts.ts";
import { hostRuns } from "./host-runs.ts";
import type { HostWorld } from "./host-world.ts";
import type { Scenario } from "./scenario.ts";
import { traced } from "./traced.ts";

/** Returns the scenarios of a host: each is one run of the agent. */
export function hostScenarios(world: HostWorld): Scenario[] {
  return hostRuns.map(({ name, before, run, end, again = end, refusal, keepReleases = 3, kept = {}, filled }) => {
    let old: Installed = {};
    let changed: Installed = {};
    let id = "";
    /** Results of recoveries: the next deployment is tried once on each. */
    const tried = new Set<string>();
    return {
      name,
      async trace(folder, durability) {
        const root = join(folder, "root");
        await mkdir(root);
        await before?.(world, root);
        old = await installed(root);
        const disk = await traced(root, async (hook) => {
          const result = await run(world, root, { durability, keepReleases });
          if (result.error?.code !== refusal) throw new Error(`${name}: ${result.error?.message}`);
          hook.absorb();
          hook.disk.mark("done");
          id = result.deployment_id;
        });
        changed = await installed(root);
        return disk;
      },
      async check(root, told) {
        const done = told.has("done");
        const facts = new HostFacts(root, world.target, { old, changed, kept, done, filled });
        const applications = world.applications(root);
        const expectRunning = async (): Promise<void> => void facts.faults.push(...(await applications.differences()));
        await facts.expectWhole("before the next run");
        facts.faults.push(...(await applications.boot()));
        await world.recover(root);
        await facts.expectWhole("after the next run");
        await expectRunning();
        await facts.expectNothingLeft();
        await facts.expectReports(id, refusal === undefined ? "success" : "failed");
        const shape = `${told.size} ${await facts.shape()}`;
        if (tried.has(shape)) return facts.faults;
        tried.add(shape);
        const next = await world.deploy(root, again, { keepReleases });
        if (next.error?.code !== refusal) facts.faults.push(`the next deployment ends with ${next.error?.code}`);
        if (done && refusal === undefined && next.outcome !== "unchanged")
          facts.faults.push("the next deployment finds it damaged");
        await facts.expectChanged(end);
        await expectRunning();
        await facts.expectNothingLeft();
        return facts.faults;
      },
    };
  });
}
