import type { DeploymentStatus } from "./reports.ts";

// Apart from the schemas, so that a command that shows records, and `--help`, load none.

/** Returns the version that a host runs by its record: null when none does, undefined when nobody knows. */
export function runningVersion(record: {
  version: string;
  status: DeploymentStatus;
  running_version?: string | null | undefined;
}): string | null | undefined {
  if (record.running_version !== undefined) return record.running_version;
  return record.status === "success" ? record.version : undefined;
}

/**
 * The beginning of the error message of a version that asks for more rights than the running one. Hubs keep messages
 * as they are, so that every hub can show it.
 */
export const HELD_RIGHTS = "held: rights: ";

/** True for the record of a host that holds the version until a person consents. */
export const isHeld = ({ error_message: message }: { error_message?: string | null | undefined }): boolean =>
  message?.startsWith(HELD_RIGHTS) === true;
