import type { Integration } from "../../contract/files/integration.ts";

/** The user and group that a sandbox runs as. */
export interface SandboxUser {
  uid: number;
  gid: number;
}

/** Returns another user for sandboxes, when the runtime runs as root and was not told otherwise. */
export function sandboxUser(limits: Integration["plugins"]["sandbox"]): SandboxUser | undefined {
  const isRoot = process.getuid?.() === 0;
  return isRoot && limits.change_user ? { uid: limits.uid, gid: limits.gid } : undefined;
}
