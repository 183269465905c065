import type { FastifyInstance, FastifyRequest } from "fastify";
import { hostRemoved, HubError, keyMissing, keyRejected } from "../base/errors.ts";
import { hashOf, shownPrefix } from "../base/identity.ts";
import type { Principal } from "../base/principal.ts";
import type { Connections } from "../http/connections.ts";
import { findKey, findRemovedHost, findSession, type Session } from "../records/access.ts";
import type { KeyUse } from "../records/key-use.ts";
import type { Records } from "../records/port.ts";
import { hostOf } from "../records/sightings.ts";
import { bearerOf, credentialHash, keyOf, MAX_CREDENTIAL_CHARACTERS } from "./credentials.ts";
import { requireOwnHost } from "./own-host.ts";
import { FAILURES_OF_ADDRESS, RATE_WINDOW_MS, type RateLimits } from "./rate-limits.ts";
import type { SessionTokens } from "./session-tokens.ts";
import type { SharedCounts } from "./shared-counts.ts";

type SecurityRequirement = Record<string, string[]>;

/** Refuses requests without a credential, on routes that ask for one, before their body is looked at. */
export function refuseAnonymous(app: FastifyInstance): void {
  app.addHook("onRoute", (route) => {
    const requirements = (route.schema as { security?: SecurityRequirement[] } | undefined)?.security;
    if (requirements === undefined || requirements.some((requirement) => Object.keys(requirement).length === 0)) return;
    const takes = (scheme: string): boolean => requirements.some((requirement) => scheme in requirement);
    const check = async (request: FastifyRequest): Promise<void> => {
      if (takes("apiKey") && keyOf(request) !== undefined) return;
      if (takes("session") && bearerOf(request) !== undefined) return;
      throw takes("apiKey") ? keyMissing() : keyMissing("a session's access token in Authorization: Bearer");
    };
    route.onRequest = [...[route.onRequest ?? []].flat(), check];
  });
}

/** Finds out who is asking: the API key in X-API-Key, or the session in Authorization. */
export interface Authentication {
  /** @throws 401 without a live key */
  key(request: FastifyRequest): Promise<Principal>;
  /** @throws 401 without a live session, or when its key is revoked or has expired */
  session(request: FastifyRequest): Promise<Session>;
  /** Finds the live key of a hash, for a session of the web. */
  live(hash: string): Promise<Principal | undefined>;
  /** A session, or else a key. */
  sessionOrKey(request: FastifyRequest): Promise<{ principal: Principal; projectId: string | null }>;
  /** Returns the answer to a key of this hash that is not live: a host hears that it was removed. */
  refusal(hash: string | undefined): Promise<HubError>;
  /**
   * Counts a failed authentication and gives the error to throw: `error`, or 429 beyond the limit.
   *
   * @param secret what was refused; by default the request's key or token
   */
  rejected(request: FastifyRequest, error: HubError, secret?: string): HubError;
  /**
   * Notes a valid credential: its connection is closed later than others, and its key was used.
   *
   * @throws HubError 403 `other_host` when the request names another host than the key speaks for
   */
  accepted(request: FastifyRequest, principal?: Principal): void;
}

/** The parts of the hub that authentication needs. */
export interface AuthenticationParts extends Records {
  sessionTokens: SessionTokens;
  keyUse: KeyUse;
  rateLimits: RateLimits | undefined;
  rateCounts: SharedCounts;
}

/** The options of a mount: the parts of the hub that its routes work with. */
export interface MountOptions<Parts> {
  hub: Parts;
  authentication: Authentication;
}

/** Limits of failed authentications, and the answer beyond them. */
function failureLimits({ rateLimits, rateCounts }: AuthenticationParts): Authentication["rejected"] {
  if (rateLimits === undefined) return (_request, error) => error;
  const { failuresPerMinute } = rateLimits;
  return (request, error, secret = keyOf(request) ?? bearerOf(request) ?? "") => {
    // Whatever was sent as a key: PostgreSQL stores no NUL, and would refuse the counts of all others with it.
    const prefix = shownPrefix(secret).replace(/[^!-~]/g, "?");
    const isExceeded = (key: string, max: number) => {
      const { current, ttl } = rateCounts.count(key, RATE_WINDOW_MS, max);
      return current > max ? { ttl } : undefined;
    };
    // An address that guesses leaves no counter of each key that it makes up.
    if (error.statusCode === 401 && request.credentialHash !== null) rateCounts.forgetFirst(request.credentialHash);
    const exceeded =
      isExceeded(`failed:${request.ip}`, failuresPerMinute * FAILURES_OF_ADDRESS) ??
      isExceeded(`failed:${request.ip}:${prefix}`, failuresPerMinute);
    if (exceeded === undefined) return error;
    const seconds = Math.ceil(exceeded.ttl / 1000);
    return new HubError(429, "rate_limited", `Too many failed authentications; try again in ${seconds} s.`, {
      headers: { "retry-after": String(seconds) },
    });
  };
}

/** @param hearHost hears of each request with a key that speaks for one host */
export function createAuthentication(
  context: AuthenticationParts,
  connections: Connections,
  hearHost: (request: FastifyRequest, host: Principal) => void,
): Authentication {
  const { statements } = context.database;
  const rejected = failureLimits(context);
  const accepted: Authentication["accepted"] = (request, principal) => {
    connections.vouch(request);
    if (principal === undefined) return;
    context.keyUse.note(principal.keyId);
    if (principal.host === null) return;
    requireOwnHost(principal, hostOf(request.headers));
    hearHost(request, principal);
  };

  const refusal = async (hash: string | undefined): Promise<HubError> => {
    const host = hash === undefined ? undefined : await findRemovedHost(statements, hash);
    return host === undefined ? keyRejected() : hostRemoved(host);
  };

  const key = async (request: FastifyRequest): Promise<Principal> => {
    if (keyOf(request) === undefined) throw keyMissing();
    const hash = credentialHash(request);
    const principal = hash === undefined ? undefined : await findKey(statements, hash, context.now());
    if (principal === undefined) throw rejected(request, await refusal(hash));
    accepted(request, principal);
    return principal;
  };

  const session = async (request: FastifyRequest): Promise<Session> => {
    const token = bearerOf(request);
    if (token === undefined) throw keyMissing("a session's access token in Authorization: Bearer");
    // The cached hash is the API key's when the request carries both.
    const hash =
      keyOf(request) === undefined ? credentialHash(request) : hashOf(token.slice(0, MAX_CREDENTIAL_CHARACTERS));
    const found =
      hash === undefined ? undefined : await findSession(statements, hash, context.now(), hostOf(request.headers));
    if (found !== undefined) {
      accepted(request, found.principal);
      return found;
    }
    const ended = keyRejected("access token");
    // A session that has ended is no guess: its agent opens another one.
    throw context.sessionTokens.isOurs(token) ? ended : rejected(request, ended, token);
  };

  return {
    key,
    session,
    live: (hash) => findKey(statements, hash, context.now()),
    async sessionOrKey(request) {
      if (bearerOf(request) !== undefined) return session(request);
      const principal = await key(request);
      return { principal, projectId: principal.projectId };
    },
    refusal,
    rejected,
    accepted,
  };
}
