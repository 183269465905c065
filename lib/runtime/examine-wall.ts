import { stat } from "node:fs/promises";
import { join } from "node:path";
import { INTEGRATION_FILE } from "../contract/files/manifest.ts";
import { examineGroups } from "../support/control-groups/find-groups.ts";
import { sandboxUser } from "./base/user.ts";
import { readConfiguration } from "./configuration.ts";
import { messageOf } from "./guest/fault.ts";
import { DISK_IS_SAMPLED } from "./sandbox/disk-limit.ts";
import { findWall, wallPolicyOf } from "./walls/find-wall.ts";

export interface WallFinding {
  status: "ok" | "warning" | "failed";
  message: string;
  hint?: string;
}

/**
 * Reports what would confine the sandboxed plugins of a project root.
 * @returns nothing where there is no configuration of a runtime
 */
export async function examineWall(projectRoot: string): Promise<WallFinding | undefined> {
  const file = join(projectRoot, INTEGRATION_FILE);
  const there = await stat(file).catch(() => undefined);
  if (there === undefined) return undefined;
  let settings;
  try {
    ({ settings } = await readConfiguration(file, process.env));
  } catch (error) {
    // Its secrets are in the service's credentials, which only the service can read.
    return { status: "warning", message: `what holds sandboxed plugins is not known: ${messageOf(error)}` };
  }
  const policy = wallPolicyOf(settings);
  if (policy === "off") return { status: "warning", message: "plugins.sandbox.wall is off: Node's model holds alone" };
  const found = await findWall(sandboxUser(settings.plugins.sandbox));
  if (found.wall) {
    using wall = found.wall;
    const message = `${wall.name}: ${wall.parts.join(", ")}; ${await examineGroups()}; ${DISK_IS_SAMPLED}`;
    return { status: "ok", message };
  }
  const message = `there is no second wall around sandboxed plugins: ${found.reason}`;
  if (policy === "preferred")
    return { status: "warning", message, hint: "docs/sandbox.md says what holds without it." };
  return { status: "failed", message, hint: "Without it they do not load: plugins.sandbox.wall is required here." };
}
