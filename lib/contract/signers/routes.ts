import * as z from "zod";
import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import { noContent, type Route } from "../route.ts";
import { authorSignature } from "../surfaces/marketplace.ts";
import { addSignerRequest, endSignerRequest, signerKey, signerRecord } from "../surfaces/signers.ts";

const shared = { mount: "devkeys", tags: ["key service"] } as const;

export const listSigners = {
  ...shared,
  method: "GET",
  path: "/projects/:id/signers",
  who: { key: ["read", "projects", "publish"] },
  otherHosts: "none",
  summary: "The signers of a project, plugin or service, by their keys",
  query: pageQuery,
  ok: { 200: page(signerRecord) },
} as const satisfies Route;

export const addSigner = {
  ...shared,
  method: "POST",
  path: "/projects/:id/signers",
  who: { key: ["projects"] },
  summary: "Add a signer, or take a retired one back; from the first one on, others may not publish",
  body: addSignerRequest,
  ok: { 201: signerRecord },
  errors: [409],
} as const satisfies Route;

export const signVersion = {
  ...shared,
  method: "PUT",
  path: "/projects/:id/versions/:version/signature",
  who: { key: ["publish"] },
  summary: "Add the author's signature to a version of a plugin or service that has none",
  description: "The hub verifies it over the stored bytes. The same signer again changes nothing; another one is 409.",
  body: authorSignature,
  ok: { 204: noContent },
  errors: [409],
} as const satisfies Route;

const ending = {
  ...shared,
  method: "POST",
  who: { key: ["projects"] },
  params: later(() => z.object({ id: z.string(), key: signerKey })),
  body: later(() => endSignerRequest.nullish()),
  ok: { 200: signerRecord },
} as const;

export const retireSigner = {
  ...ending,
  path: "/projects/:id/signers/:key/retire",
  summary: "Retire a signer: it publishes nothing more, and may be added again",
} as const satisfies Route;

export const revokeSigner = {
  ...ending,
  path: "/projects/:id/signers/:key/revoke",
  summary: "Revoke a key for good, such as a stolen one, whether or not it is registered",
} as const satisfies Route;
