import type { ApplicationGrant, ApplicationsFile } from "./applications.ts";

/**
 * Returns the grant by which an application runs: one that is of another one runs as that one's user.
 *
 * @returns undefined where it, or the one that it is of, is not granted
 */
export function grantOf(
  applications: ApplicationsFile["applications"] | undefined,
  id: string,
): ApplicationGrant | undefined {
  const own = applications?.[id];
  if (own?.of === undefined) return own;
  const base = applications?.[own.of];
  return base && { ...own, user: base.user, same_user: base.same_user, alone: base.alone };
}
