import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { Values } from "../../lib/options/option.ts";
import type { identity } from "../../lib/options/publishers.ts";

/** The options of a publication that may identify itself by its run. */
interface IdentityOptions extends Values<typeof identity> {
  hubUrl: string;
}

/**
 * Exchanges the identity of this CI run for a key to one target.
 *
 * @param target `plugin:SLUG`, `service:SLUG`, `project:ID` or `project:NAME`
 */
export async function keyOfRun(
  { oidcToken: given, oidcAudience, hubUrl }: IdentityOptions,
  target: string,
  transport: Pick<HubConnection, "timeoutMs"> & { signal: AbortSignal },
) {
  const [{ exchangeToken, identityToken }, { baseUrl }] = await Promise.all([
    import("../../lib/client/identity.ts"),
    import("../../lib/contract/surfaces/paths.ts"),
  ]);
  const audience = oidcAudience ?? baseUrl(hubUrl);
  const token = await identityToken({ audience, given, env: process.env, ...transport });
  return exchangeToken({ hubUrl, ...transport }, target, token);
}
