import type { Scope } from "../../contract/surfaces/keys.ts";
import { forbidden } from "./errors.ts";

/** The principal of a request: a key, or the key behind a session. */
export interface Principal {
  keyId: string;
  owner: string;
  scopes: ReadonlySet<Scope>;
  /** The only project or target that the key works for; null for all of its owner's. */
  projectId: string | null;
  /** The only host that the key speaks for; null for any. */
  host: string | null;
  /** ISO 8601, or null for never. */
  expiresAt: string | null;
}

export interface Owned {
  id: string;
  owner: string;
}

const parsed = new Map<string, ReadonlySet<Scope>>();

/** The stored scopes as a set. There are few combinations, so each is parsed once. */
export function scopesOf(stored: string): ReadonlySet<Scope> {
  let scopes = parsed.get(stored);
  if (scopes === undefined) parsed.set(stored, (scopes = new Set(stored.split(" ") as Scope[])));
  return scopes;
}

/** `admin` implies every other scope. */
export function may({ scopes }: Principal, ...anyOf: Scope[]): boolean {
  return scopes.has("admin") || anyOf.some((scope) => scopes.has(scope));
}

/** An administrator acts for every owner; one that is bound to a project only for that project. */
export function isAdministrator({ scopes, projectId }: Principal): boolean {
  return scopes.has("admin") && projectId === null;
}

/** @throws 403 without one of the scopes */
export function requireScope(principal: Principal, ...anyOf: Scope[]): void {
  if (!may(principal, ...anyOf)) throw forbidden(`The key lacks the scope ${anyOf.join(" or ")}.`);
}
