import type { LimitName } from "../contract/files/limit-forms.ts";
import { applicationPaths } from "../releases/applications.ts";
import type { Layout } from "../releases/layout.ts";
import type { MemberGroup } from "../support/control-groups/member-groups.ts";
import { applicationEnvironment } from "./environment.ts";
import { limited } from "./limits.ts";
import type { Setting } from "./setting.ts";
import type { RunAs } from "./user.ts";

/** Everything that a program of an application gets, whether it runs all the time, at times, or was typed. */
export interface LaunchValue {
  environment: Record<string, string>;
  user: RunAs;
  /** File of the control group that it enters before anything else; undefined for none. */
  entrance: string | undefined;
  /** Limits that nothing enforces here. */
  unenforced: LimitName[];
}

/**
 * Prepares a launch: makes and limits its control group, and reads its settings.
 *
 * @param group of its own; undefined for none
 * @param sockets names of handed-over sockets, in the order of their descriptors
 * @param mark value by which its processes are found
 * @throws ServeFault `settings_invalid`
 */
export async function launchValue(
  layout: Layout,
  id: string,
  setting: Setting,
  { group, sockets = [], mark }: { group: MemberGroup | undefined; sockets?: readonly string[]; mark: string },
): Promise<LaunchValue> {
  const { app, user, addresses, limits } = setting;
  // One that is of another application has the settings of that one.
  const { settings } = applicationPaths(layout, app.of ?? id);
  const environment = await applicationEnvironment({ id, app, user, addresses, settings, sockets, mark });
  await group?.make();
  return { environment, user, entrance: group?.entrance, unenforced: await limited(group, limits) };
}
