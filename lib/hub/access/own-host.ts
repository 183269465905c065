import type { FastifyRequest } from "fastify";
import type { OtherHosts } from "../../contract/route.ts";
import type { FleetCounts } from "../../contract/surfaces/reports.ts";
import { forbidden, HubError } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Statement of a route of the table about other hosts; without one, keys of hosts may not call it. */
    otherHosts?: OtherHosts | "undecided";
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
 * Rejects a request about another host, by its path or its answer, of a key that speaks for one, and a request for a
 * route that does not say what it tells of others.
 *
 * @throws HubError 403 `other_host`, `forbidden`
 */
export function requireAlone(principal: Principal, { params, query, routeOptions }: FastifyRequest): void {
  if (principal.host === null) return;
  const { host_id, host } = (params ?? {}) as { host_id?: string; host?: string };
  requireOwnHost(principal, host_id ?? host);
  const { host_id: only } = (query ?? {}) as { host_id?: string };
  const { otherHosts } = routeOptions.config;
  if (otherHosts === "undecided") throw forbidden(`Keys that speak for one host, such as this one, may not do this.`);
  if (otherHosts === "named" && only !== principal.host)
    throw new HubError(403, "other_host", `The key speaks for the host ${principal.host}, and reads about no other.`);
}

/**
 * Returns a fleet's numbers as a caller may see them: labels say what other hosts are for, and a key that speaks for
 * one host reads nothing about another one.
 */
export const countsFor = ({ host }: Pick<Principal, "host">, counts: FleetCounts): FleetCounts =>
  host === null ? counts : { ...counts, labels: [] };
