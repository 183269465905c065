import type { Integration } from "../../contract/files/integration.ts";

/** User and group that a sandbox runs as. */
export interface SandboxUser {
  uid: number;
  gid: number;
}

/** Returns a separate user for sandboxes, when the runtime runs as root and is not configured otherwise. */
export function sandboxUser(limits: Integration["plugins"]["sandbox"]): SandboxUser | undefined {
  const isRoot = process.getuid?.() === 0;
  return isRoot && limits.change_user ? { uid: limits.uid, gid: limits.gid } : undefined;
}
