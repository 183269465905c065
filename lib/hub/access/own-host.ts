import { HubError } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";

/** Tells whether a key speaks for a host. @param named undefined where a request names no host */
export const speaksFor = ({ host }: Pick<Principal, "host">, named: string | undefined): boolean =>
  host === null || named === undefined || named === host;

/**
 * Rejects a request or report about another host than the one that the key speaks for.
 *
 * @param named host that the request or report names, if any
 * @throws HubError 403 `other_host`
 */
export function requireOwnHost(principal: Principal, named: string | undefined): void {
  if (speaksFor(principal, named)) return;
  throw new HubError(403, "other_host", `The key speaks for the host ${principal.host}, not for ${named}.`);
}
