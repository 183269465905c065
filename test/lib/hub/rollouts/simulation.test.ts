import t from "tap";
import { simulate } from "../../../../scripts/simulate/simulate.ts";

t.test("rollouts over simulated fleets break no rule, whatever is lost, late, dead, restarted or closed", (t) => {
  const played = Array.from({ length: 8 }, (_, seed) => simulate(seed + 1, 600));
  for (const { seed, faults } of played) t.strictSame(faults, [], `seed ${seed}`);
  // A bad one may also wait for ever, for hosts that it took with it.
  t.ok(played.every(({ isBad, state }) => isBad !== (state === "completed")));
  t.ok(played.some(({ state }) => state === "halted") && played.some(({ state }) => state === "completed"));
  t.strictSame(simulate(1, 600), played[0], "a seed can be played again");
  t.end();
});
