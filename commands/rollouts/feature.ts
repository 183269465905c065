import type { CommandFeature } from "../shell/feature.ts";
import { RolloutAbort, RolloutChange, RolloutList, RolloutShow, RolloutStart } from "./rollouts.ts";
import { RolloutWait } from "./wait.ts";

export const rollouts: CommandFeature = {
  name: "rollouts",
  commands: [RolloutAbort, RolloutChange, RolloutList, RolloutShow, RolloutStart, RolloutWait],
};
