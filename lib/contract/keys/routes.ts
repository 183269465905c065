import * as z from "zod";
import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import { noContent, type Route } from "../route.ts";
import { apiKeyRecord, createdKey, createKeyRequest, KEY_STATES, rotateKeyRequest } from "../surfaces/keys.ts";

const shared = { mount: "devkeys", tags: ["key service"] } as const;

export const createKey = {
  ...shared,
  method: "POST",
  path: "/api-keys",
  who: { key: ["keys"] },
  summary: "Issue an API key; its secrets are shown once",
  body: createKeyRequest,
  ok: { 201: createdKey },
  errors: [404],
} as const satisfies Route;

export const showOwnKey = {
  ...shared,
  method: "GET",
  path: "/key",
  who: { key: [] },
  otherHosts: "none",
  summary: "The key that asks, without its secrets",
  ok: { 200: apiKeyRecord },
} as const satisfies Route;

export const listKeys = {
  ...shared,
  method: "GET",
  path: "/api-keys",
  who: { key: ["keys"] },
  summary: "List the own keys, without their secrets",
  description: "A key that ended more than 30 days ago is in no list. With `state`, only live or ended keys are.",
  query: later(() => pageQuery.extend({ state: z.enum(KEY_STATES).optional() })),
  ok: { 200: page(apiKeyRecord) },
} as const satisfies Route;

export const revokeKey = {
  ...shared,
  method: "DELETE",
  path: "/api-keys/:id",
  // A key may revoke itself; the handler requires `keys` for revoking another one.
  who: { key: [] },
  otherHosts: "none",
  summary: "Revoke a key, its sessions and its deployment credential at once",
  ok: { 204: noContent },
  errors: [403],
} as const satisfies Route;

export const rotateKey = {
  ...shared,
  method: "POST",
  path: "/api-keys/:id/rotate",
  who: { key: [] },
  otherHosts: "none",
  summary: "Issue a key with the same rights, and let the old one end after a grace",
  body: later(() => rotateKeyRequest.nullish()),
  ok: { 201: createdKey },
  errors: [403, 409],
} as const satisfies Route;
