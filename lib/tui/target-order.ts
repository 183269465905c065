import { stateOf, type TargetState, type TargetView } from "../models/watch.ts";
import type { TargetOrder } from "./navigation.ts";

/** States by how much they want to be looked at, the most urgent first. */
const URGENCY: readonly TargetState[] = [
  "failing",
  "held",
  "deploying",
  "queued",
  "paused",
  "starting",
  "checking",
  "unpublished",
  "current",
];

const byName = (a: TargetView, b: TargetView): number => a.title.localeCompare(b.title) || (a.name < b.name ? -1 : 1);

/** Returns the targets in the order that a person has chosen; within one state, by name. */
export function orderTargets(targets: readonly TargetView[], order: TargetOrder): readonly TargetView[] {
  switch (order) {
    case "listed":
      return targets;
    case "name":
      return targets.toSorted(byName);
    case "state":
      return targets.toSorted((a, b) => URGENCY.indexOf(stateOf(a)) - URGENCY.indexOf(stateOf(b)) || byName(a, b));
  }
}
