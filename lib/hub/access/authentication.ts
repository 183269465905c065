import type { FastifyInstance, FastifyRequest } from "fastify";
import { hostRemoved, HubError, keyMissing, keyRejected } from "../base/errors.ts";
import { hashOf, shownPrefix } from "../base/identity.ts";
import type { Principal } from "../base/principal.ts";
import type { Connections } from "../http/connections.ts";
import { findKey, findRemovedHost, findSession, type Session } from "../records/access.ts";
import type { KeyUse } from "../records/key-use.ts";
import type { Records } from "../records/port.ts";
import { hostOf } from "../records/sightings.ts";
import { apiKeyOf, bearerOf, credentialHash, MAX_CREDENTIAL_CHARACTERS } from "./credentials.ts";
import { requireAlone, requireOwnHost } from "./own-host.ts";
import { FAILURES_OF_ADDRESS, RATE_WINDOW_MS, type RateLimits } from "./rate-limits.ts";
import type { SessionTokens } from "./session-tokens.ts";
import type { SharedCounts } from "./shared-counts.ts";

type SecurityRequirement = Record<string, string[]>;

/** Rejects requests without a credential, before their body is read, on routes that require one. */
export function refuseAnonymous(app: FastifyInstance): void {
  app.addHook("onRoute", (route) => {
    const requirements = (route.schema as { security?: SecurityRequirement[] } | undefined)?.security;
    if (requirements === undefined || requirements.some((requirement) => Object.keys(requirement).length === 0)) return;
    const takes = (scheme: string): boolean => requirements.some((requirement) => scheme in requirement);
    const check = async (request: FastifyRequest): Promise<void> => {
      if (takes("apiKey") && apiKeyOf(request) !== undefined) return;
      if (takes("session") && bearerOf(request) !== undefined) return;
      throw takes("apiKey") ? keyMissing() : keyMissing("a session's access token in Authorization: Bearer");
    };
    route.onRequest = [...[route.onRequest ?? []].flat(), check];
  });
}

/** Identifies the caller by the API key in X-API-Key or the session in Authorization. */
export interface Authentication {
  /** Returns the key of a request. @throws 401 without a live key */
  key(request: FastifyRequest): Promise<Principal>;
  /** Returns the session of a request. @throws 401 without a live session, or when its key is revoked or has expired */
  session(request: FastifyRequest): Promise<Session>;
  /** Finds the live key of a hash, for a session of the web. */
  live(hash: string): Promise<Principal | undefined>;
  /** Returns the principal of a session, or else of a key. */
  sessionOrKey(request: FastifyRequest): Promise<{ principal: Principal; projectId: string | null }>;
  /** Returns the answer for the hash of a key that is not live; it tells a removed host that it was removed. */
  refusal(hash: string | undefined): Promise<HubError>;
  /**
   * Counts a failed authentication and returns the error to throw: `error`, or 429 beyond the limit.
   *
   * @param secret the rejected credential; by default the request's key or token
   */
  rejected(request: FastifyRequest, error: HubError, secret?: string): HubError;
  /**
   * Records a valid credential: keeps its connection open for longer, and notes that its key was used.
   *
   * @throws HubError 403 `other_host` when the request names another host than the key speaks for
   */
  accepted(request: FastifyRequest, principal?: Principal): void;
}

/** Parts of the hub that authentication needs. */
export interface AuthenticationParts extends Records {
  sessionTokens: SessionTokens;
  keyUse: KeyUse;
  rateLimits: RateLimits | undefined;
  rateCounts: SharedCounts;
}

/** Options of a mount: the parts of the hub that its routes work with. */
export interface MountOptions<Parts> {
  hub: Parts;
  authentication: Authentication;
}

/** Returns the limits of failed authentications, and the answer beyond them. */
function failureLimits({ rateLimits, rateCounts }: AuthenticationParts): Authentication["rejected"] {
  if (rateLimits === undefined) return (_request, error) => error;
  const { failuresPerMinute } = rateLimits;
  return (request, error, secret = apiKeyOf(request) ?? bearerOf(request) ?? "") => {
    // PostgreSQL stores no NUL: one in a rejected key would make it refuse the counts of everyone.
    const prefix = shownPrefix(secret).replace(/[^!-~]/g, "?");
    const isExceeded = (key: string, max: number) => {
      const { current, ttl } = rateCounts.count(key, RATE_WINDOW_MS, max);
      return current > max ? { ttl } : undefined;
    };
    // An address that guesses keys must not leave a counter for each guess.
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

/** @param hearHost called with each request of a key that speaks for one host */
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
    requireAlone(principal, request);
    hearHost(request, principal);
  };

  const refusal = async (hash: string | undefined): Promise<HubError> => {
    const host = hash === undefined ? undefined : await findRemovedHost(statements, hash);
    return host === undefined ? keyRejected() : hostRemoved(host);
  };

  const key = async (request: FastifyRequest): Promise<Principal> => {
    if (apiKeyOf(request) === undefined) throw keyMissing();
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
      apiKeyOf(request) === undefined ? credentialHash(request) : hashOf(token.slice(0, MAX_CREDENTIAL_CHARACTERS));
    const found =
      hash === undefined ? undefined : await findSession(statements, hash, context.now(), hostOf(request.headers));
    if (found !== undefined) {
      accepted(request, found.principal);
      return found;
    }
    const ended = keyRejected("access token");
    // An expired session is not a guess: its agent opens another one.
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
