import { type HealthHearing, HealthWatch } from "../health/health-watch.ts";
import type { Source } from "../sources/source.ts";
import type { LoopContext, WatchTarget } from "./target.ts";
import type { WatchedRoot } from "./watched-root.ts";

interface Watched {
  of: Source;
  root: WatchedRoot;
  /** Returns the target as it is defined now. */
  definition: () => WatchTarget;
}

/** Makes the health watch of a target's loop. @param wake has the loop send the reports that wait */
export function healthWatchOf(
  { of: { kind, slug, target }, root, definition }: Watched,
  { emit, random, healthTimes }: LoopContext,
  wake: () => void,
): HealthWatch {
  const patient = {
    ...{ kind, slug, target, enter: () => root.enter(definition().options) },
    get layout() {
      return root.layout;
    },
    get options() {
      return definition().options;
    },
  };
  const hearing: HealthHearing = {
    changed: (found) => emit({ event: "health.changed", target: definition().name, ...found }),
    reported: wake,
    warn: (message) => emit({ event: "warning", target: definition().name, message }),
    random,
  };
  return new HealthWatch(patient, hearing, healthTimes);
}
