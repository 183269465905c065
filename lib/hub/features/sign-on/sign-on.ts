import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Configuration, IDToken } from "openid-client";
import { boundedFetch } from "../../../support/network/bounded-fetch.ts";
import { ATTEMPT_MS, type Grant, type SignedOn, type SignInWay } from "../../access/sign-in-way.ts";
import { HubError } from "../../base/errors.ts";

export interface SignOnOptions {
  /** Issuer URL; must serve OIDC discovery. */
  issuer: string;
  clientId: string;
  /** Client secret; undefined for a public client. */
  clientSecret: string | undefined;
  /** Scopes to request, separated by spaces. */
  scope: string;
  /** Claim of the ID token that grants rights: a text or a list of texts. */
  claim: string;
  /** Grants, of which the first match counts. */
  grants: readonly Grant[];
}

/** Time for which endpoints and keys of the identity provider are cached, in milliseconds. */
const CONFIGURATION_MS = 60 * 60 * 1000;
/** Largest accepted lead of the identity provider's clock, in seconds. */
const CLOCK_AHEAD_SECONDS = 5 * 60;
const ANSWER_SECONDS = 10;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Longest subject, in characters (OpenID Connect Core, 2). */
const MAX_SUBJECT_CHARACTERS = 255;
const MAX_NEXT_CHARACTERS = 512;

const SEED_BYTES = 16;
const EXPIRY_BYTES = 6;
const MAC_BYTES = 32;

/** Returns a name derived from everything in a grant: changing or removing a grant ends its sessions. */
const nameOf = ({ issuer, clientId, claim }: SignOnOptions, { value, owner, scopes, projectId }: Grant): string =>
  createHash("sha256")
    .update(JSON.stringify([issuer, clientId, claim, value, owner, scopes, projectId]))
    .digest("hex");

const isLoopback = ({ hostname }: URL): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

/** Signs people in by an identity provider (OpenID Connect: authorization code with PKCE). */
export class SignOn implements SignInWay {
  readonly #options: SignOnOptions;
  readonly #key: Buffer;
  readonly #clock: () => number;
  #found: { configuration: Promise<Configuration>; until: number } | undefined;

  /** @param key 32 bytes, shared by every hub of one database */
  constructor(options: SignOnOptions, key: Buffer, clock: () => number) {
    this.#options = options;
    this.#key = key;
    this.#clock = clock;
  }

  get issuer(): string {
    return this.#options.issuer;
  }

  /** Names of all grants; sessions are bound to them. */
  get grantNames(): string[] {
    return this.#options.grants.map((grant) => nameOf(this.#options, grant));
  }

  nameOf(grant: Grant): string {
    return nameOf(this.#options, grant);
  }

  #mac(purpose: "attempt" | "state" | "nonce" | "verifier", body: Uint8Array): Buffer {
    return createHmac("sha256", this.#key).update(purpose).update("\0").update(body).digest();
  }

  /** Derives state, nonce and verifier from the attempt, so that no hub has to store them. */
  #secrets(body: Uint8Array): { state: string; nonce: string; verifier: string } {
    const make = (purpose: "state" | "nonce" | "verifier") => this.#mac(purpose, body).toString("base64url");
    return { state: make("state"), nonce: make("nonce"), verifier: make("verifier") };
  }

  /**
   * Starts a sign-in.
   *
   * @param next path of the hub to continue with
   * @returns the identity provider's address, and the attempt, to be kept in a cookie
   * @throws HubError 503 when the identity provider does not answer
   */
  async begin(redirectUri: string, next: string): Promise<{ address: string; attempt: string }> {
    const configuration = await this.#configuration();
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import("openid-client");
    const expiry = Buffer.alloc(EXPIRY_BYTES);
    expiry.writeUIntBE(this.#clock() + ATTEMPT_MS, 0, EXPIRY_BYTES);
    const path = Buffer.from(next.length > MAX_NEXT_CHARACTERS ? "/" : next);
    const body = Buffer.concat([randomBytes(SEED_BYTES), expiry, path]);
    const { state, nonce, verifier } = this.#secrets(body);
    const address = buildAuthorizationUrl(configuration, {
      ...{ redirect_uri: redirectUri, scope: this.#options.scope, state, nonce },
      ...{ code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: "S256" },
    });
    return {
      address: address.href,
      attempt: Buffer.concat([this.#mac("attempt", body), body]).toString("base64url"),
    };
  }

  #open(attempt: string): Buffer | undefined {
    const bytes = Buffer.from(attempt, "base64url");
    if (bytes.length < MAC_BYTES + SEED_BYTES + EXPIRY_BYTES) return undefined;
    const body = bytes.subarray(MAC_BYTES);
    if (!timingSafeEqual(this.#mac("attempt", body), bytes.subarray(0, MAC_BYTES))) return undefined;
    return body.readUIntBE(SEED_BYTES, EXPIRY_BYTES) > this.#clock() ? body : undefined;
  }

  /**
   * Finishes a sign-in.
   *
   * @param attempt cookie of the browser
   * @param answer redirect URI with the parameters that the identity provider added
   * @returns the person, their grant, and the path to continue with; no grant for a person without rights
   * @throws HubError 401 for an answer that does not belong to this attempt
   */
  async finish(attempt: string | undefined, answer: URL): Promise<SignedOn> {
    const body = attempt === undefined ? undefined : this.#open(attempt);
    if (body === undefined) throw refused("This sign-in is too old, or began in another browser.");
    const { state: expectedState, nonce: expectedNonce, verifier: pkceCodeVerifier } = this.#secrets(body);
    // Rejected before the provider is contacted: the answer belongs to another attempt.
    if (answer.searchParams.get("state") !== expectedState) throw refused("This is the answer to another sign-in.");
    const configuration = await this.#configuration();
    const { authorizationCodeGrant } = await import("openid-client");
    let claims: IDToken;
    try {
      const checks = { expectedState, expectedNonce, pkceCodeVerifier, idTokenExpected: true };
      claims = (await authorizationCodeGrant(configuration, answer, checks)).claims()!;
    } catch (error) {
      throw refused(`The identity provider did not sign you in${reasonOf(error)}.`, error);
    }
    if (claims.iat > this.#clock() / 1000 + CLOCK_AHEAD_SECONDS)
      throw refused("The identity provider's answer is from the future: its clock or the hub's is wrong.");
    // Unpaired surrogates are stored as U+FFFD: two people would become one.
    if (claims.sub.length > MAX_SUBJECT_CHARACTERS || !/^[^\p{Cc}\p{Cs}]+$/u.test(claims.sub))
      throw refused("The identity provider gave no usable name of you.");
    const next = body.toString("utf8", SEED_BYTES + EXPIRY_BYTES);
    return { person: { subject: claims.sub, issuer: this.issuer }, grant: this.#grantOf(claims), next };
  }

  #grantOf(claims: IDToken): Grant | undefined {
    const { claim, grants } = this.#options;
    // Anybody may claim an email address that was never verified.
    const value = claim === "email" && claims.email_verified !== true ? undefined : claims[claim];
    const values: unknown[] = Array.isArray(value) ? value : [value];
    return grants.find((each) => values.includes(each.value));
  }

  async #configuration(): Promise<Configuration> {
    const now = this.#clock();
    if (this.#found === undefined || this.#found.until <= now)
      this.#found = { configuration: this.#discover(), until: now + CONFIGURATION_MS };
    try {
      return await this.#found.configuration;
    } catch (error) {
      this.#found = undefined;
      throw new HubError(503, "hub_unavailable", "The identity provider does not answer; try again in a moment.", {
        headers: { "retry-after": "10" },
        cause: error,
      });
    }
  }

  async #discover(): Promise<Configuration> {
    const client = await import("openid-client");
    const { issuer, clientId, clientSecret } = this.#options;
    const server = new URL(issuer);
    const authentication = clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret);
    return client.discovery(server, clientId, {}, authentication, {
      timeout: ANSWER_SECONDS,
      [client.customFetch]: boundedFetch({
        timeoutMs: ANSWER_SECONDS * 1000,
        maxBytes: MAX_ANSWER_BYTES,
      }),
      execute: [
        // Verifies the signature, too, rather than relying on the connection alone.
        client.enableNonRepudiationChecks,
        ...(server.protocol === "http:" && isLoopback(server) ? [client.allowInsecureRequests] : []),
      ],
    });
  }
}

const refused = (message: string, cause?: unknown) => new HubError(401, "key_rejected", message, { cause });

/** Returns the standard's code of an error, and no other text of the identity provider or of a link. */
function reasonOf(error: unknown): string {
  const { error: word } = error as { error?: unknown };
  return typeof word === "string" && /^[a-z_]{1,40}$/.test(word) ? ` (${word})` : "";
}
