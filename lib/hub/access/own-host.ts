import { HubError } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";

/**
 * Rejects a request or report about another host than the one that the key speaks for.
 *
 * @param named host that the request or report names, if any
 * @throws HubError 403 `other_host`
 */
export function requireOwnHost({ host }: Principal, named: string | undefined): void {
  if (host === null || named === undefined || named === host) return;
  throw new HubError(403, "other_host", `The key speaks for the host ${host}, not for ${named}.`);
}
