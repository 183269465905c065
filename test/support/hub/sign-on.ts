import type { Grant } from "../../../lib/hub/access/sign-in-way.ts";
import type { SignOnOptions } from "../../../lib/hub/features/sign-on/sign-on.ts";
import { CLIENT_SECRET, type Issuer } from "./issuer.ts";

/** Returns the options of a hub that signs people in at an issuer. */
export const signOnBy = (
  { url }: Issuer,
  grants: readonly Partial<Grant>[],
  more?: Partial<SignOnOptions>,
): { signOn: SignOnOptions } => ({
  signOn: {
    ...{ issuer: url, clientId: "hub", clientSecret: CLIENT_SECRET, scope: "openid", claim: "groups" },
    grants: grants.map((grant) => ({ value: "ops", owner: "acme", scopes: ["read"], projectId: null, ...grant })),
    ...more,
  },
});
