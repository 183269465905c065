import type { Scope } from "../../contract/surfaces/keys.ts";
import { forbidden } from "./errors.ts";

/** Caller of a request: a key, or the key behind a session. */
export interface Principal {
  keyId: string;
  owner: string;
  scopes: ReadonlySet<Scope>;
  /** Only project or target that the key works for; null for all of its owner's. */
  projectId: string | null;
  /** Only host that the key speaks for; null for any. */
  host: string | null;
  /** Expiry, ISO 8601; null for none. */
  expiresAt: string | null;
}

export interface Owned {
  id: string;
  owner: string;
}

const parsed = new Map<string, ReadonlySet<Scope>>();

/** Returns stored scopes as a set. Combinations are few, so each is parsed once. */
export function scopesOf(stored: string): ReadonlySet<Scope> {
  let scopes = parsed.get(stored);
  if (scopes === undefined) parsed.set(stored, (scopes = new Set(stored.split(" ") as Scope[])));
  return scopes;
}

/** Tells whether a principal has one of the scopes; `admin` implies them all. */
export function may({ scopes }: Principal, ...anyOf: Scope[]): boolean {
  return scopes.has("admin") || anyOf.some((scope) => scopes.has(scope));
}

/** Tells whether a principal acts for every owner. A key bound to a project never does. */
export function isAdministrator({ scopes, projectId }: Principal): boolean {
  return scopes.has("admin") && projectId === null;
}

/** Requires one of the scopes. @throws 403 */
export function requireScope(principal: Principal, ...anyOf: Scope[]): void {
  if (!may(principal, ...anyOf)) throw forbidden(`The key lacks the scope ${anyOf.join(" or ")}.`);
}
