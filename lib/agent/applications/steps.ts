import type { InstallStep } from "../../contract/files/install-plan.ts";
import { type Item, sameItem } from "../../releases/layout.ts";
import { unitKey } from "../../releases/names.ts";

/** Time limit of a look at an application's process, in seconds; `health` of its app.yaml limits the whole check. */
const LOOK_SECONDS = 10;

/**
 * Returns the steps that installing applications implies, after those of the plan: dropped ones are stopped, then each
 * is restarted and checked. They stand in no plan and no record.
 *
 * @param before applications of the release that ran, as `servicesIn` lists them
 * @param apps those of the release that is switched to
 */
export function impliedSteps(before: readonly Item[], apps: readonly Item[]): InstallStep[] {
  const dropped = before.filter((item) => !apps.some((app) => sameItem(app, item)));
  return [...dropped.toReversed().map((item) => impliedStep("stop", item)), ...stepsOfChanged(apps)];
}

/** Returns the steps by which applications get what has changed: each is restarted and checked. */
export const stepsOfChanged = (apps: readonly Item[]): InstallStep[] =>
  apps.flatMap((item) => [impliedStep("restart", item), impliedStep("healthcheck", item)]);

function impliedStep(action: "stop" | "restart" | "healthcheck", item: Item): InstallStep {
  const common = { id: `${action}-app-${item.id}`, plugin: unitKey(item), depends_on: [], snapshot: false };
  return action === "healthcheck" ? { ...common, action, timeout: LOOK_SECONDS, retries: 0 } : { ...common, action };
}
