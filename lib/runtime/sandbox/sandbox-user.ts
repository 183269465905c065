import type { Integration } from "../../contract/files/integration.ts";
import type { PermissionModel } from "../audit.ts";
import type { ControlGroups } from "../walls/control-group.ts";
import { boundsOf } from "../walls/find-groups.ts";
import type { Wall } from "../walls/wall.ts";
import type { SandboxUser } from "./folder-scan.ts";

type Limits = Integration["plugins"]["sandbox"];

/** Returns another user for sandboxes, when the runtime runs as root and was not told otherwise. */
export function sandboxUser(limits: Limits): SandboxUser | undefined {
  const isRoot = process.getuid?.() === 0;
  return isRoot && limits.change_user ? { uid: limits.uid, gid: limits.gid } : undefined;
}

/** Names what keeps a sandbox in, for status. */
export function heldBy(setting: {
  limits: Limits;
  permissionModel: PermissionModel;
  wall: Wall | undefined;
  groups: ControlGroups | undefined;
}): string[] {
  const user = sandboxUser(setting.limits);
  return [
    ...(setting.permissionModel === "enforced" ? ["node"] : []),
    ...(user ? [`uid ${user.uid}`] : []),
    ...(setting.wall ? [setting.wall.name] : []),
    ...(setting.groups ? [`cgroup (${boundsOf(setting.groups.controllers)})`] : []),
  ];
}
