import { noContent, type Route } from "../route.ts";
import { signingKeyRecord, signingKeyRequest } from "../surfaces/marketplace.ts";

const shared = {
  mount: "devkeys",
  path: "/signing-key",
  who: {
    key: ["publish"],
    boundRefusal: "A key that is bound to a project may not change or see its owner's secret.",
  },
  tags: ["key service"],
} as const;

export const registerSigningKey = {
  ...shared,
  method: "POST",
  summary: "Register the owner's signing secret, in place of an earlier one",
  body: signingKeyRequest,
  ok: { 201: signingKeyRecord },
  secret: ["secret"],
} as const satisfies Route;

export const showSigningKey = {
  ...shared,
  method: "GET",
  summary: "Whether a signing secret is registered, and since when",
  ok: { 200: signingKeyRecord },
  errors: [404],
} as const satisfies Route;

export const forgetSigningKey = {
  ...shared,
  method: "DELETE",
  summary: "Forget the signing secret",
  ok: { 204: noContent },
  errors: [404],
} as const satisfies Route;
