import type { JWTPayload, JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { safelyParsed } from "../../../support/documents/safe-parse.ts";
import { boundedFetch } from "../../../support/network/bounded-fetch.ts";
import { withoutPasswords } from "../../../support/printable.ts";
import { BadDestination, type Destinations } from "../../base/destinations.ts";
import { HubError, unprocessable } from "../../base/errors.ts";

/** Asymmetric signatures only: no shared secrets, and no "none". */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

const CLOCK_TOLERANCE_SECONDS = 60;
/** Longest life of a token, in seconds: that of a job. Used tokens are remembered for as long. */
const MAX_LIFE_SECONDS = 24 * 60 * 60;

const ANSWER_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024;
/** Time for which an issuer's endpoints and keys are cached, in milliseconds; an unknown key is fetched at once. */
const KEYS_MS = 60 * 60 * 1000;
const COOLDOWN_MS = 30_000;
/** Most issuers whose keys are cached. */
const MAX_ISSUERS = 256;

const discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** Claims of a token whose signature and times are valid. */
export type VerifiedClaims = JWTPayload & { iss: string; exp: number };

/** Issuers of identity tokens, with their keys. */
export class Issuers {
  readonly #destinations: Destinations;
  readonly #clock: () => number;
  readonly #fetch: ReturnType<typeof boundedFetch>;
  readonly #known = new Map<string, { keys: Promise<JWTVerifyGetKey>; until: number }>();

  constructor(destinations: Destinations, clock: () => number) {
    this.#destinations = destinations;
    this.#clock = clock;
    this.#fetch = boundedFetch({
      ...{ timeoutMs: ANSWER_MS, maxBytes: MAX_ANSWER_BYTES },
      connect: (url) => {
        destinations.check(url);
        // A pooled connection might lead to an address that was never checked.
        return { agent: false, lookup: destinations.lookup(url) };
      },
    });
  }

  /** Requires that an issuer may be asked for its keys, and answers. @throws HubError 422 */
  async require(issuer: string): Promise<void> {
    try {
      await this.#destinations.checkNow(this.#destinations.parse(issuer));
      await this.#keysOf(issuer);
    } catch (error) {
      throw unprocessable(`issuer: ${withoutPasswords(issuer)} ${reasonOf(error)}.`);
    }
  }

  /**
   * Verifies a token of an issuer.
   *
   * @throws HubError 401 for one that the issuer has not signed or that is not valid now, 503 while the issuer does
   *   not answer
   */
  async verify(issuer: string, token: string): Promise<VerifiedClaims> {
    const { jwtVerify } = await import("jose");
    const now = this.#clock();
    const keys = await this.#keysOf(issuer).catch((error: unknown) => {
      throw silent(issuer, error);
    });
    try {
      const { payload } = await jwtVerify(token, keys, {
        ...{ issuer, algorithms: ALGORITHMS, requiredClaims: ["exp", "iat"], currentDate: new Date(now) },
        ...{ clockTolerance: CLOCK_TOLERANCE_SECONDS, maxTokenAge: MAX_LIFE_SECONDS },
      });
      if (payload.exp! > now / 1000 + MAX_LIFE_SECONDS) throw refusedToken("is valid for longer than a day");
      return payload as VerifiedClaims;
    } catch (error) {
      if (error instanceof HubError) throw error;
      const fault = faultOf(error);
      throw fault === undefined ? silent(issuer, error) : refusedToken(fault);
    }
  }

  #keysOf(issuer: string): Promise<JWTVerifyGetKey> {
    const now = this.#clock();
    const known = this.#known.get(issuer);
    if (known !== undefined && known.until > now) return known.keys;
    const keys = this.#discover(issuer);
    this.#known.delete(issuer);
    this.#known.set(issuer, { keys, until: now + KEYS_MS });
    if (this.#known.size > MAX_ISSUERS) this.#known.delete(this.#known.keys().next().value!);
    // A failed lookup is not cached, so the next request retries.
    keys.catch(() => {
      if (this.#known.get(issuer)?.keys === keys) this.#known.delete(issuer);
    });
    return keys;
  }

  async #discover(issuer: string): Promise<JWTVerifyGetKey> {
    const { createRemoteJWKSet, customFetch } = await import("jose");
    const answer = await this.#fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, {
      headers: { accept: "application/json" },
    });
    if (answer.status !== 200) throw new BadDestination(`answered ${answer.status} to OpenID Connect Discovery`);
    const found = safelyParsed(discovery, await answer.json().catch(() => undefined));
    if (!found.success) throw new BadDestination("does not answer as an issuer of identity tokens");
    if (found.data.issuer !== issuer) throw new BadDestination(`calls itself ${JSON.stringify(found.data.issuer)}`);
    const address = this.#destinations.parse(found.data.jwks_uri);
    return createRemoteJWKSet(address, {
      ...{ timeoutDuration: ANSWER_MS, cooldownDuration: COOLDOWN_MS, cacheMaxAge: KEYS_MS },
      [customFetch]: this.#fetch,
    });
  }
}

const refusedToken = (fault: string): HubError => new HubError(401, "key_rejected", `The identity token ${fault}.`);

const silent = (issuer: string, cause: unknown): HubError =>
  new HubError(503, "hub_unavailable", `The issuer ${issuer} ${reasonOf(cause)}; try again in a moment.`, {
    headers: { "retry-after": "10" },
    cause,
  });

const reasonOf = (error: unknown): string => (error instanceof BadDestination ? error.message : "does not answer");

/** Describes what is wrong with a token; undefined when its issuer's keys could not be fetched. */
function faultOf(error: unknown): string | undefined {
  const { code, claim, reason } = error as { code?: string; claim?: string; reason?: string };
  switch (code) {
    case "ERR_JWT_EXPIRED":
      return claim === "iat" ? "is older than a day" : "has expired";
    case "ERR_JWT_CLAIM_VALIDATION_FAILED":
      if (reason === "missing") return `lacks the claim ${claim}`;
      if (reason === "invalid") return `has a malformed claim ${claim}`;
      return claim === "iat" || claim === "nbf" ? "is not valid yet: a clock is wrong" : `has a wrong claim ${claim}`;
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return "is signed by an algorithm that is not accepted";
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
    case "ERR_JWKS_NO_MATCHING_KEY":
    case "ERR_JWKS_MULTIPLE_MATCHING_KEYS":
      return "is not signed by a key of its issuer";
    case "ERR_JWS_INVALID":
    case "ERR_JWT_INVALID":
    case "ERR_JOSE_NOT_SUPPORTED":
      return "is not a signed JSON Web Token";
    default:
      return undefined;
  }
}
