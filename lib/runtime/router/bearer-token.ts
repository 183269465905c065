import { createPublicKey, createSecretKey } from "node:crypto";
import { resolve } from "node:path";
import type { JWTPayload, JWTVerifyGetKey, KeyObject } from "jose";
import { usageError } from "../../contract/errors.ts";
import type { JwtConfiguration } from "../../contract/files/integration.ts";
import { readKeyFile } from "../../support/files.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";

/**
 * Bearer tokens of plugin routes (docs/contract/runtime.md): pinned algorithms; issuer, audience and expiry are always
 * checked.
 */

export type Claims = JWTPayload;

/** Verifies a token. @throws RuntimeFault `token_missing`, `token_invalid` or `auth_not_configured` */
export type TokenVerifier = (authorization: string | undefined) => Promise<Claims>;

async function keyOf(configuration: JwtConfiguration, root: string): Promise<KeyObject | JWTVerifyGetKey> {
  const { jwks_url, public_key_file, secret_file } = configuration;
  if (jwks_url !== undefined)
    return (await import("jose")).createRemoteJWKSet(new URL(jwks_url), { timeoutDuration: 5000 });
  if (public_key_file !== undefined) return createPublicKey(await readKeyFile(resolve(root, public_key_file)));
  const secret = (await readKeyFile(resolve(root, secret_file as string))).toString().trim();
  // RFC 7518, section 3.2: a key for HS256 has at least as many bits as its hash.
  if (Buffer.byteLength(secret) < 32) throw new Error(`${secret_file} holds fewer than 32 bytes`);
  return createSecretKey(Buffer.from(secret, "utf8"));
}

/**
 * Makes the verifier, and reads its key files.
 * @param root base of relative file names
 * @throws SealiftError `config_invalid` for a key file that cannot be read or holds no key
 */
export async function createTokenVerifier(
  configuration: JwtConfiguration | undefined,
  root: string,
): Promise<TokenVerifier> {
  if (configuration === undefined) {
    return () => {
      const message = "The route asks for a token, and the runtime's configuration has no auth.jwt section.";
      return Promise.reject(new RuntimeFault("auth_not_configured", message));
    };
  }
  const { algorithms, issuer, audience } = configuration;
  // Loaded only where tokens are verified, for a quicker start elsewhere.
  const { jwtVerify } = await import("jose");
  const key = await keyOf(configuration, root).catch((error: unknown) => {
    throw usageError("config_invalid", `auth.jwt: the key cannot be used: ${messageOf(error)}.`, { cause: error });
  });
  return async (authorization) => {
    const token = /^Bearer +([A-Za-z0-9_.~+/=-]+) *$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) throw new RuntimeFault("token_missing", "The request carries no bearer token.");
    try {
      const options = { algorithms, issuer, audience, requiredClaims: ["exp"], clockTolerance: 5 };
      const { payload } = await jwtVerify(token, key as JWTVerifyGetKey, options);
      return payload;
    } catch (error) {
      throw new RuntimeFault("token_invalid", `The bearer token is not valid: ${messageOf(error)}.`, { cause: error });
    }
  };
}

const wordsOf = (claim: unknown): string[] =>
  typeof claim === "string"
    ? claim.split(/\s+/)
    : Array.isArray(claim)
      ? claim.filter((word) => typeof word === "string")
      : [];

/** Returns the permissions that a token lacks: each must be in its `permissions`, `roles` or `scope`. */
export function missingPermissions(claims: Claims, required: readonly string[]): string[] {
  const held = new Set([...wordsOf(claims["permissions"]), ...wordsOf(claims["roles"]), ...wordsOf(claims["scope"])]);
  return required.filter((permission) => !held.has(permission));
}
