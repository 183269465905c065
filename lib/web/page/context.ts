import type { FastifyRequest } from "fastify";
import type { ReactElement } from "react";
import type { Authentication } from "../../hub/access/authentication.ts";
import type { PersonKeys } from "../../hub/access/person-keys.ts";
import type { WebHub } from "../../hub/access/web.ts";
import { forbidden } from "../../hub/base/errors.ts";
import type { Principal } from "../../hub/base/principal.ts";
import type { Api } from "./api.ts";
import type { Archives } from "./archive.ts";
import type { Cookies } from "./visitor.ts";

/** Everything that pages are made with. */
export interface PageContext {
  hub: WebHub;
  authentication: Authentication;
  personKeys: PersonKeys;
  api: Api;
  archives(): Promise<Archives>;
  cookies: Cookies;
}

/** Redirect after a form post. */
export interface GoTo {
  /** Path below the base; with `isAway`, the identity provider's address. */
  goTo: string;
  isAway?: boolean;
}

/** Makes the page of a request. */
export type Screen = (context: PageContext, request: FastifyRequest) => Promise<ReactElement | GoTo>;

/** Returns the parameters of a path. */
export const paramsOf = (request: FastifyRequest): Record<string, string> => request.params as Record<string, string>;

/** Returns one parameter of a path. */
export const param = (request: FastifyRequest, name: string): string => paramsOf(request)[name] ?? "";

/** Returns one value of a query; empty when it is missing or given twice. */
export function queryOf(request: FastifyRequest, name: string): string {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === "string" ? value : "";
}

/** Returns one field of a form; undefined when it is missing or empty. */
export const field = (request: FastifyRequest, name: string): string | undefined =>
  (request.body as URLSearchParams).get(name) || undefined;

/**
 * Returns the signed-in principal. @throws HubError 403 without a session; routes that need one have redirected to the
 * sign-in before
 */
export function requirePrincipal({ visitor }: FastifyRequest): Principal {
  if (visitor?.principal === undefined) throw forbidden("Sign in first.");
  return visitor.principal;
}
