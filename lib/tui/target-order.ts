import { stateOf, TARGET_STATES } from "../agent/watch/target-state.ts";
import type { TargetOrder } from "./navigation.ts";
import type { TargetView } from "./watch-model.ts";

const byName = (a: TargetView, b: TargetView): number => a.title.localeCompare(b.title) || (a.name < b.name ? -1 : 1);

/** Returns the targets in the order that a person has chosen; within one state, by name. */
export function orderTargets(targets: readonly TargetView[], order: TargetOrder): readonly TargetView[] {
  switch (order) {
    case "listed":
      return targets;
    case "name":
      return targets.toSorted(byName);
    case "state":
      return targets.toSorted(
        (a, b) => TARGET_STATES.indexOf(stateOf(a)) - TARGET_STATES.indexOf(stateOf(b)) || byName(a, b),
      );
  }
}
