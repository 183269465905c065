import type { FastifyRequest } from "fastify";
import { HubError } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether the answer names hosts, or facts of several ones. */
    namesHosts?: boolean;
  }
}

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

/**
 * Rejects a request about another host, by its path or its answer, of a key that speaks for one.
 *
 * @throws HubError 403 `other_host`
 */
export function requireAlone(principal: Principal, { params, query, routeOptions }: FastifyRequest): void {
  if (principal.host === null) return;
  const { host_id, host } = (params ?? {}) as { host_id?: string; host?: string };
  requireOwnHost(principal, host_id ?? host);
  const { host_id: only } = (query ?? {}) as { host_id?: string };
  if (routeOptions.config.namesHosts === true && only !== principal.host)
    throw new HubError(403, "other_host", `The key speaks for the host ${principal.host}, and reads about no other.`);
}
