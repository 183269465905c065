import {
  type ApiKeyRecord,
  type CreateKeyRequest,
  DEFAULT_KEY_DAYS,
  DEFAULT_SCOPES,
  type Scope,
} from "../../contract/surfaces/keys.ts";
import { forbidden, unprocessable } from "../base/errors.ts";
import { isAdministrator, may, type Principal } from "../base/principal.ts";
import { type Ends, endsOfKey, personEnd } from "../records/ends.ts";
import { type Key, type KeyView, principalOfKey } from "../records/keys.ts";

/** Rights of a new key. */
interface GrantableKey {
  name: string;
  /** Other owner, if an administrator has named one. */
  owner: string | undefined;
  scopes: readonly Scope[];
  projectId: string | null;
  host: string | null;
  expiresAt: string | null;
}

function grantableScopes(principal: Principal, wanted: readonly Scope[] | undefined): Scope[] {
  const scopes = wanted ?? DEFAULT_SCOPES.filter((scope) => may(principal, scope));
  const missing = scopes.filter((scope) => !may(principal, scope));
  if (missing.length > 0) throw forbidden(`Your key lacks the scope ${missing.join(", ")} and cannot give it.`);
  if (scopes.length === 0) throw forbidden("Your key has none of the default scopes to give; name the scopes.");
  return [...new Set(scopes)];
}

/**
 * Returns the host that a new key speaks for. Such a key can manage nothing, so it can make no key for another host.
 */
function ownHost(wanted: string | null | undefined, scopes: readonly Scope[]): string | null {
  const more = scopes.filter((scope) => !DEFAULT_SCOPES.includes(scope));
  if (wanted === undefined || wanted === null) return null;
  if (more.length > 0)
    throw unprocessable(`scopes: a key that speaks for a host may deploy, report and read, not ${more.join(", ")}.`);
  return wanted;
}

function grantableProject(principal: Principal, wanted: string | null | undefined): string | null {
  if (principal.projectId === null) return wanted ?? null;
  if (wanted !== undefined && wanted !== null && wanted !== principal.projectId) {
    throw forbidden("Your key is bound to another project.");
  }
  return principal.projectId;
}

const DEFAULT_LIFE_MS = DEFAULT_KEY_DAYS * 86_400_000;

/** Returns an expiry no later than that of the creating key. */
const endWithin = ({ expiresAt }: Pick<Principal, "expiresAt">, end: string): string =>
  expiresAt !== null && expiresAt < end ? expiresAt : end;

/**
 * Returns the expiry of a key that replaces another one: the same lifetime again, but beyond the old expiry only as far
 * as the requesting key's own.
 *
 * @param now ISO 8601
 */
export function renewedExpiry(
  principal: Principal,
  { created_at: since, expires_at: end }: Pick<ApiKeyRecord, "created_at" | "expires_at">,
  now: string,
): string | null {
  if (end === null) return null;
  const again = new Date(Date.parse(now) + Date.parse(end) - Date.parse(since)).toISOString();
  const within = endWithin(principal, again);
  return within < end ? end : within;
}

function grantableExpiry(principal: Principal, wanted: string | null | undefined, now: string): string | null {
  if (wanted === undefined) return endWithin(principal, new Date(Date.parse(now) + DEFAULT_LIFE_MS).toISOString());
  const expiresAt = wanted === null ? null : new Date(wanted).toISOString();
  if (expiresAt !== null && expiresAt <= now) throw unprocessable("expires_at: lies in the past.");
  if (principal.expiresAt === null) return expiresAt;
  if (expiresAt === null) return principal.expiresAt;
  if (expiresAt > principal.expiresAt) throw forbidden("The new key would outlive yours.");
  return expiresAt;
}

/**
 * Checks the rights that a key gives to a new one: no more than its own (docs/contract/keys.md). Omitted fields are
 * inherited.
 *
 * @param now ISO 8601
 * @throws 403 for rights beyond its own, 422 for an expiry in the past, and for a host's key with other scopes
 */
export function grantableKey(principal: Principal, wanted: CreateKeyRequest, now: string): GrantableKey {
  if (wanted.owner !== undefined && wanted.owner !== principal.owner && !isAdministrator(principal)) {
    throw forbidden("Only an administrator creates keys of another owner.");
  }
  const scopes = grantableScopes(principal, wanted.scopes);
  return {
    name: wanted.name,
    owner: wanted.owner,
    scopes,
    projectId: grantableProject(principal, wanted.project_id),
    host: ownHost(wanted.host, scopes),
    expiresAt: grantableExpiry(principal, wanted.expires_at, now),
  };
}

/**
 * Returns the ends that a key hands on. Administrators issue the keys of different people: each stands for itself, or
 * for the person that it is issued for.
 *
 * @param acts_for name of that person @throws HubError 403 when somebody else names one
 */
export function endsToGive(key: Key, { acts_for: person }: { acts_for?: string | undefined } = {}): Ends {
  const isAdministrators = isAdministrator(principalOfKey(key));
  if (person !== undefined && !isAdministrators)
    throw forbidden("acts_for: only an administrator names the person that a key is issued for.");
  if (!isAdministrators) return endsOfKey(key);
  return person === undefined ? [] : [personEnd(person)];
}

/** Tells whether a key may end another one that it sees: itself, or one that it could have created. */
export const mayEnd = (principal: Principal, { id, scopes }: Pick<ApiKeyRecord, "id" | "scopes">): boolean =>
  id === principal.keyId || (may(principal, "keys") && scopes.every((scope) => may(principal, scope)));

/** Returns which records a key sees: its owner's, its project's if bound to one, everyone's for an administrator. */
export const viewOf = (principal: Principal): KeyView => ({
  owner: isAdministrator(principal) ? undefined : principal.owner,
  projectId: principal.projectId,
});
