import { HubError } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";

/**
 * Refuses what a key that speaks for one host says of another one.
 *
 * @param named the host that a request or report names, if it does
 * @throws HubError 403 `other_host`
 */
export function requireOwnHost({ host }: Principal, named: string | undefined): void {
  if (host === null || named === undefined || named === host) return;
  throw new HubError(403, "other_host", `The key speaks for the host ${host}, not for ${named}.`);
}
