import type { Integration } from "../../contract/files/integration.ts";
import { describeGroups, findGroups, type FoundGroups } from "../../support/control-groups/find-groups.ts";
import type { Logger } from "../../support/logging.ts";
import type { SandboxUser } from "../base/user.ts";
import { DISK_IS_SAMPLED } from "../sandbox/disk-limit.ts";
import { findWall, type FoundWall, wallPolicyOf } from "../walls/find-wall.ts";

/** Chooses how the operating system confines sandboxed plugins, and logs it. */

/**
 * Finds the wall that a configuration requires, and logs what confines sandboxed plugins.
 * @param options `waived`: reason for which this runtime builds none, whatever its configuration says; `quiet`: for a
 *   process that does other work too, which does not report a host without a wall
 */
export async function chooseWall(
  settings: Integration,
  user: SandboxUser | undefined,
  logger: Logger,
  { waived, quiet }: { waived: string | undefined; quiet: boolean },
): Promise<FoundWall> {
  if (waived !== undefined) return { wall: undefined, reason: waived, waived: true };
  const policy = wallPolicyOf(settings);
  const off = { wall: undefined, reason: "plugins.sandbox.wall is off" };
  const found: FoundWall = policy === "off" ? off : await findWall(user);
  const own = user ? `Node's permission model, user ${user.uid}` : "Node's permission model";
  if (found.wall)
    logger.info(
      `sandboxed plugins are held by ${own} and ${found.wall.name}: ${found.wall.parts.join(", ")}; ${DISK_IS_SAMPLED}`,
    );
  else if (policy === "required") logger.error(`sandboxed plugins do not load: ${found.reason}`);
  else
    logger[quiet ? "debug" : "warn"](
      `sandboxed plugins are held by ${own}, without a second wall: ${found.reason}; ${DISK_IS_SAMPLED}`,
    );
  return found;
}

/** Chooses the control groups. A process that does other work too stays in its own group. */
export async function chooseGroups(
  { plugins }: Integration,
  { guardProcess, controlGroup }: { guardProcess?: boolean; controlGroup?: string },
  logger: Logger,
): Promise<FoundGroups> {
  const boundsIo = plugins.sandbox.io_mb_per_second !== undefined;
  if (guardProcess !== true && controlGroup === undefined)
    return { groups: undefined, reason: "this process is not a runtime alone" };
  const found = await findGroups(logger, controlGroup, boundsIo);
  if (boundsIo && found.groups?.controllers.includes("io") !== true)
    logger.warn("plugins.sandbox.io_mb_per_second does not hold here: there is no control group with io");
  logger.info(`sandboxed plugins: ${describeGroups(found)}`);
  return found;
}
