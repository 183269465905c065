import type { FastifyRequest } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { badRequest } from "../base/errors.ts";
import { hashOf } from "../base/identity.ts";

const API_KEY = HEADERS.apiKey.toLowerCase();
/** Longest credential that is hashed, in characters: more than any that the hub issues. */
export const MAX_CREDENTIAL_CHARACTERS = 512;

declare module "fastify" {
  interface FastifyRequest {
    /**
     * SHA-256 of the credential that the request carries, computed once: rate limit, key and session lookup share it.
     */
    credentialHash: string | null;
  }
}

/** Returns the API key of a request. */
export const apiKeyOf = (request: FastifyRequest): string | undefined => {
  const value = request.headers[API_KEY];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** Counts the header fields of a name. Node's `headersDistinct` would copy all of them, for each poll of an agent. */
function timesGiven(rawHeaders: readonly string[], lowerName: string): number {
  let times = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) times++;
  }
  return times;
}

/**
 * Returns the access token of a request.
 *
 * @throws HubError 400 for two headers: Node would take the first, while a proxy in front may take the second
 */
export function bearerOf({ headers, raw }: FastifyRequest): string | undefined {
  if (headers.authorization === undefined) return undefined;
  if (timesGiven(raw.rawHeaders, "authorization") > 1)
    throw badRequest("The request has more than one Authorization header.");
  return /^Bearer +(\S+)$/i.exec(headers.authorization)?.[1];
}

/** Returns the hash of the request's credential, or undefined without one. */
export function credentialHash(request: FastifyRequest): string | undefined {
  if (request.credentialHash !== null) return request.credentialHash;
  const secret = apiKeyOf(request) ?? bearerOf(request);
  if (secret === undefined || secret.length > MAX_CREDENTIAL_CHARACTERS) return undefined;
  return (request.credentialHash = hashOf(secret));
}
