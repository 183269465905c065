import type { Values } from "../../lib/options/option.ts";
import type { identity } from "../../lib/options/publishers.ts";
import type { PublishingFeature } from "../publishing/feature.ts";

/** Publishing with the identity of a CI run: it is exchanged for a key to one target. */
export const publishers: PublishingFeature = {
  async keyFor({ oidc, oidcToken: given, oidcAudience }: Values<typeof identity>, target, transport) {
    if (!oidc) return undefined;
    const [{ exchangeToken, identityToken }, { baseUrl }] = await Promise.all([
      import("../../lib/client/publishers/identity.ts"),
      import("../../lib/contract/surfaces/paths.ts"),
    ]);
    const { hubUrl, ...limits } = transport;
    const audience = oidcAudience ?? baseUrl(hubUrl);
    const token = await identityToken({ audience, given, env: process.env, ...limits });
    return exchangeToken(transport, target, token);
  },
};
