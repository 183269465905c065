import type { RolloutAction } from "../../lib/contract/rollouts/records.ts";

/** Outcome of each action, printed after the rollout's name. */
export const ACTED: Readonly<Record<RolloutAction, string>> = {
  pause: "paused: no further host gets the version",
  resume: "goes on",
  approve: "has its next wave approved",
  abort: "aborted: no further host gets the version",
};
