/** Sequences of actions that are common together, and the rules of their rollouts. */
import type { Random } from "../fuzz/random.ts";
import type { Deed, Pick, Rules } from "./plan.ts";

const MINUTE = 60_000;
const WAVES = [
  ["100%"],
  ["env=canary", "100%"],
  ["env=canary", "100%"],
  ["40%", "100%"],
  ["env=canary", "50%", "100%"],
  ["env=canary", "region=eu", "100%"],
  ["1%", "10%", "50%", "100%"],
  ["env=canray", "100%"],
];

export function rulesOf(random: Random, windows: readonly string[]): Rules {
  return {
    waves: random.pick(WAVES),
    soak_seconds: random.pick([0, 0, 20, 60, 300]),
    max_failing: random.pick(["0", "0", "1", "2%", "20%", "100%"]),
    min_done: random.pick(["100%", "90%", "50%", "1"]),
    window: random.once(5) ? random.pick(windows) : null,
    approve: random.once(5),
    on_halt: random.once(3) ? "rollback" : "stop",
    bound_hosts: random.once(5),
  };
}

export const pick = (random: Random): Pick => ({ pick: random.below(100) });

type StartOf = (Deed & { do: "start" })["of"];

/** Action of a story, with the milliseconds after the previous one where the story needs them. */
export type Told = Deed & { after?: number };

export const STORIES: ((random: Random, windows: readonly string[]) => Told[])[] = [
  (...of) => [...brought(...of), WAIT, WAIT],
  (...of) => [...brought(...of), { do: "abort", rollback: true }, ...brought(...of)],
  // After a rollback the bad version is yanked or deleted, before hosts have gone back or after.
  (random, windows) => [
    ...canaried(random, { on_halt: random.pick(["stop", "rollback"]) }),
    { ...WAIT, after: 3 * MINUTE },
    ...(random.once(3) ? [] : [{ do: "abort", rollback: true } as const]),
    { do: random.pick(["yank", "delete"]), pick: 0, after: random.below(2 * MINUTE) },
    ...(random.once(2) ? [{ do: "delete", pick: 0 } as const] : []),
    ...(random.once(2) ? brought(random, windows) : [WAIT]),
  ],
  (...of) => [...brought(...of), ...brought(...of, true), { do: "abort", rollback: false }],
  (...of) => [...brought(...of), { do: "resume" }, WAIT],
  // Hosts keep a version that was abandoned, and a lower one is rolled out.
  (...of) => [
    ...brought(...of, false, "highest"),
    { do: "abort", rollback: false },
    ...brought(...of, false, "lowest"),
  ],
  // In the middle of a soak or of deployments.
  (...of) => [...brought(...of).slice(0, 2), { do: "pause" }, { do: "resume" }, WAIT],
  (...of) => [...brought(...of), { do: "yank", pick: 0 }, { do: "resume" }],
  (random, windows) =>
    brought(random, windows).map((deed) => {
      const window = random.pick(windows);
      return deed.do === "start" ? { ...deed, rules: { ...deed.rules, window, soak_seconds: 300 } } : deed;
    }),
  // A soak ends after the window has closed.
  (random, windows) => [
    ...canaried(random, { window: random.pick(windows), soak_seconds: 1500, min_done: "50%" }),
    ...[WAIT, WAIT, WAIT, WAIT].map((wait) => ({ ...wait, after: 8 * MINUTE })),
  ],
  // Hosts fail after a pause with what they took before it.
  (random) => [
    ...canaried(random, { max_failing: "0", soak_seconds: 300, min_done: "100%" }),
    { do: "pause", after: MINUTE },
    { ...WAIT, after: 7 * MINUTE },
  ],
  // A pause, or one host more in the wave, in the middle of a soak.
  (random) => [
    ...canaried(random, { soak_seconds: 300, min_done: "50%", max_failing: "100%" }),
    { do: "pause", after: 4 * MINUTE },
    { do: "resume", after: 30_000 },
    { ...WAIT, after: 8 * MINUTE },
  ],
  (random) => [
    ...canaried(random, { soak_seconds: 300, min_done: "100%", max_failing: "100%" }),
    { do: "label", labels: { env: "canary" }, ...pick(random), after: 4 * MINUTE },
    { ...WAIT, after: 8 * MINUTE },
  ],
  // Other hosts join the open waves.
  (random, windows) => [
    ...brought(random, windows),
    ...[{ do: "label", labels: { env: "canary" }, ...pick(random) } as const, WAIT],
  ],
  (...of) => [...brought(...of), { do: "pause" }, WAIT, { do: "resume" }, WAIT],
  // The version of a rollout waits for approval while another one is released.
  (random, windows) => [
    brought(random, windows)[0]!,
    ...(["stage", "publish"] as const).map((what) => ({ do: what, isOfRollout: what === "stage", ...pick(random) })),
    ...[1, 2].map(() => ({ do: "release", ...pick(random) }) as const),
    { do: "approve staged", isOwn: false, pick: 1 },
  ],
];
const WAIT: Deed = { do: "wait" };

/** Starts a rollout and publishes its version. */
const brought = (random: Random, windows: readonly string[], replace = false, of: StartOf = "unpublished"): Deed[] => [
  { do: "start", of, replace, allow: true, rules: rulesOf(random, windows), ...pick(random) },
  { do: "publish", isOfRollout: true, ...pick(random) },
  WAIT,
];

/** Rolls a version out to the canary and then to everybody, with these rules and nothing that could stop it. */
const canaried = (random: Random, rules: Partial<Rules>): Deed[] =>
  brought(random, [])
    .slice(0, 2)
    .map((deed) =>
      deed.do === "start"
        ? { ...deed, rules: { ...deed.rules, ...UNHINDERED, waves: ["env=canary", "100%"], ...rules } }
        : deed,
    );
const UNHINDERED = { window: null, approve: false };
