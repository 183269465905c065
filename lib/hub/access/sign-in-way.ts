import type { Scope } from "../../contract/surfaces/keys.ts";

/** A value of the claim, and the rights of those who have it. */
export interface Grant {
  value: string;
  owner: string;
  scopes: readonly Scope[];
  /** The only project that they work for; null for all of the owner's. */
  projectId: string | null;
}

/** A person, as the identity provider names them. */
export interface Person {
  subject: string;
  issuer: string;
}

/** The end of an attempt that the identity provider has answered. */
export interface SignedOn {
  person: Person;
  grant: Grant | undefined;
  /** A path of the hub. */
  next: string;
}

/** The time for which a person may be at the identity provider. */
export const ATTEMPT_MS = 10 * 60 * 1000;

/** A way for people to sign in at the pages, beside API keys: somebody else says who they are. */
export interface SignInWay {
  /** The URL of who says it. */
  readonly issuer: string;
  /** The names of all grants, by which sessions are bound to them. */
  readonly grantNames: readonly string[];
  nameOf(grant: Grant): string;
  /**
   * Begins an attempt.
   *
   * @param redirectUri the page that the person comes back to
   * @param next a path of the hub, to go on with
   * @returns the address to go to, and the attempt for a cookie of the browser
   * @throws HubError 503 when nobody answers
   */
  begin(redirectUri: string, next: string): Promise<{ address: string; attempt: string }>;
  /**
   * Ends an attempt.
   *
   * @param answer the address that the person came back to
   * @throws HubError 401 for an answer that is not to be believed
   */
  finish(attempt: string | undefined, answer: URL): Promise<SignedOn>;
}
