import type { Key } from "ink";
import type { RolloutAction, RolloutState, WaitingFor } from "../../contract/rollouts/records.ts";

/** Keys of a rollout's dashboard. */

const ACTIONS: Readonly<Record<string, RolloutAction>> = { a: "approve", p: "pause", r: "resume", x: "abort" };

export const ROLLOUT_KEYS: readonly { key: string; does: string; action?: RolloutAction; short: string }[] = [
  { key: "a", does: "approve: let the next wave open when its time has come", action: "approve", short: "approve" },
  { key: "p", does: "pause: no further host gets the version", action: "pause", short: "pause" },
  { key: "r", does: "resume, also after a halt: failures so far no longer count", action: "resume", short: "resume" },
  { key: "x", does: "abort: end the rollout; hosts that took the version keep it", action: "abort", short: "abort" },
  { key: "?", does: "this help", short: "help" },
  { key: "q", does: "quit; the rollout goes on at the hub", short: "quit" },
];

/** Position of a person in the dashboard. */
export interface RolloutPlace {
  /** Whether the help is shown instead of the rollout. */
  helping: boolean;
  /** Action that `y` confirms. */
  confirming: RolloutAction | undefined;
}

/** Facts about a rollout that its keys depend on. */
export interface ShownRollout {
  state: RolloutState;
  waiting: WaitingFor | null;
}

/** Returns the actions that a rollout currently allows. */
export function actionsOf({ state, waiting }: ShownRollout): RolloutAction[] {
  if (state === "running")
    return waiting === "approval" || waiting === "hosts" ? ["approve", "pause", "abort"] : ["pause", "abort"];
  return state === "paused" || state === "halted" ? ["resume", "abort"] : [];
}

export interface RolloutPressed {
  place: RolloutPlace;
  effect?: { act: RolloutAction } | { quit: true };
}

/** Returns the position that a key leads to, and its request to the hub. Each action needs confirmation. */
export function pressRollout(
  place: RolloutPlace,
  input: string,
  key: Partial<Key>,
  can: readonly RolloutAction[],
): RolloutPressed {
  const { helping, confirming } = place;
  const quit = { place, effect: { quit: true } } as const;
  if (key.ctrl === true && input === "c") return quit;
  if (confirming !== undefined) {
    const after = { helping, confirming: undefined };
    return input === "y" && can.includes(confirming) ? { place: after, effect: { act: confirming } } : { place: after };
  }
  if (helping) return input === "q" ? quit : { place: { helping: false, confirming } };
  if (input === "q" || key.escape === true) return quit;
  if (input === "?") return { place: { helping: true, confirming } };
  const action = ACTIONS[input];
  return { place: action !== undefined && can.includes(action) ? { helping, confirming: action } : place };
}
