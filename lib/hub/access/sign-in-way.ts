import type { Scope } from "../../contract/surfaces/keys.ts";

/** Claim value, with the rights of those who have it. */
export interface Grant {
  value: string;
  owner: string;
  scopes: readonly Scope[];
  /** Only project that they have rights to; null for all of the owner's. */
  projectId: string | null;
}

/** Person as the identity provider names them. */
export interface Person {
  subject: string;
  issuer: string;
}

/** Completed sign-in. */
export interface SignedOn {
  person: Person;
  grant: Grant | undefined;
  /** Path of the hub to continue with. */
  next: string;
}

/** Longest time between the start and the end of a sign-in, in milliseconds. */
export const ATTEMPT_MS = 10 * 60 * 1000;

/** A way to sign in at the pages other than with an API key: an identity provider vouches for the person. */
export interface SignInWay {
  /** Issuer URL of the identity provider. */
  readonly issuer: string;
  /** Names of all grants; sessions are bound to them. */
  readonly grantNames: readonly string[];
  nameOf(grant: Grant): string;
  /**
   * Starts a sign-in.
   *
   * @param redirectUri page to which the provider sends the person back
   * @param next path of the hub to continue with
   * @returns the address to go to, and the attempt, to be kept in a cookie
   * @throws HubError 503 when the provider does not answer
   */
  begin(redirectUri: string, next: string): Promise<{ address: string; attempt: string }>;
  /**
   * Finishes a sign-in.
   *
   * @param answer address to which the provider sent the person back
   * @throws HubError 401 for an invalid answer
   */
  finish(attempt: string | undefined, answer: URL): Promise<SignedOn>;
}
