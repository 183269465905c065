import type { Integration } from "../../contract/files/integration.ts";
import type { PermissionModel } from "../ground/instance.ts";
import { sandboxUser } from "../ground/user.ts";
import type { NetworkAccess } from "../network/access.ts";
import type { TokenVerifier } from "../router/bearer-token.ts";
import type { ControlGroups } from "../walls/control-group.ts";
import { boundsOf } from "../walls/find-groups.ts";
import type { Wall } from "../walls/wall.ts";
import type { Inspect } from "./launch.ts";
import type { MemorySampler } from "./memory-sampler.ts";
import type { Reaper } from "./reaper.ts";

/** The parts that all sandboxes of a runtime share. */
export interface SandboxSetting {
  limits: Integration["plugins"]["sandbox"];
  network: NetworkAccess;
  /** Beside Node's permission model. */
  wall: Wall | undefined;
  /** The kernel's bounds. */
  groups: ControlGroups | undefined;
  permissionModel: PermissionModel;
  /** The address at which a debugger may attach to the plugin's process; its time-outs are off then. */
  inspect: Inspect | undefined;
  sampler: MemorySampler;
  reaper: Reaper;
  databases: string[];
  extensions: string[];
  /** Processes of each plugin. */
  instances: number;
  verifyToken: TokenVerifier;
  /** `/plugin`. */
  prefix: string;
  bodyLimit: number;
}

/** Names what keeps a sandbox in, for status. */
export function heldBy({ limits, permissionModel, wall, groups }: SandboxSetting): string[] {
  const user = sandboxUser(limits);
  return [
    ...(permissionModel === "enforced" ? ["node"] : []),
    ...(user ? [`uid ${user.uid}`] : []),
    ...(wall ? [wall.name] : []),
    ...(groups ? [`cgroup (${boundsOf(groups.controllers)})`] : []),
  ];
}
