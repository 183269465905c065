import type { Integration } from "../../contract/files/integration.ts";
import type { ControlGroups } from "../../support/control-groups/control-group.ts";
import { boundsOf } from "../../support/control-groups/find-groups.ts";
import type { PermissionModel } from "../base/instance.ts";
import { sandboxUser } from "../base/user.ts";
import type { NetworkAccess } from "../network/access.ts";
import type { TokenVerifier } from "../router/bearer-token.ts";
import type { Wall } from "../walls/wall.ts";
import type { Inspect } from "./launch.ts";
import type { MemorySampler } from "./memory-sampler.ts";
import type { Reaper } from "./reaper.ts";

/** Parts shared by all sandboxes of a runtime. */
export interface SandboxSetting {
  limits: Integration["plugins"]["sandbox"];
  network: NetworkAccess;
  /** Wall in addition to Node's permission model. */
  wall: Wall | undefined;
  /** Limits of the kernel. */
  groups: ControlGroups | undefined;
  permissionModel: PermissionModel;
  /** Address at which a debugger may attach to the plugin's process, whose time-outs are then off. */
  inspect: Inspect | undefined;
  sampler: MemorySampler;
  reaper: Reaper;
  databases: string[];
  extensions: string[];
  /** Number of processes that each plugin runs in. */
  instances: number;
  verifyToken: TokenVerifier;
  /** `/plugin`. */
  prefix: string;
  bodyLimit: number;
}

/** Names what confines a sandbox, for status. */
export function confinedBy({ limits, permissionModel, wall, groups }: SandboxSetting): string[] {
  const user = sandboxUser(limits);
  return [
    ...(permissionModel === "enforced" ? ["node"] : []),
    ...(user ? [`uid ${user.uid}`] : []),
    ...(wall ? [wall.name] : []),
    ...(groups ? [`cgroup (${boundsOf(groups.controllers)})`] : []),
  ];
}
