import { SCOPES } from "../contract/scopes.ts";
import { list, text, url } from "./kinds.ts";
import { group, guarded, requiredWhen, type Values } from "./option.ts";
import { secret } from "./secrets.ts";

function grantOf(text: string) {
  const [, value, owner, words = "", projectId = null] =
    /^(.+)=([^=:]{1,255}):([a-z+]+)(?::([\w-]+))?$/.exec(text) ?? [];
  const scopes = SCOPES.filter((scope) => words.split("+").includes(scope));
  if (value !== undefined && owner !== undefined && scopes.length === words.split("+").length)
    return { value, owner, scopes, projectId };
  throw new Error(`is VALUE=OWNER:SCOPE+SCOPE, such as ops=acme:read+publish, not ${JSON.stringify(text)}`);
}

/** Options of `hub serve` for an identity provider. */
export const signOn = group("Sign-in", {
  webOidcIssuer: guarded(url({ help: "Identity provider that people sign in by on /", defaultText: "none" })),
  webOidcClientId: requiredWhen(
    guarded(text({ metavar: "ID", help: "The hub's client id there" })),
    ({ webOidcIssuer }) => webOidcIssuer !== undefined,
  ),
  webOidcClientSecret: requiredWhen(
    guarded(secret({ metavar: "SECRET", help: "The hub's client secret there", fileOnly: true })),
    ({ webOidcIssuer }) => (webOidcIssuer === undefined ? false : "if given"),
  ),
  webOidcScope: guarded(text({ metavar: "SCOPES", help: "What the hub asks it for", default: "openid" })),
  webOidcClaim: guarded(
    text({ metavar: "CLAIM", help: "Claim of the ID token that grants rights", default: "groups" }),
  ),
  webOidcGrant: guarded(
    list({ metavar: "GRANT", help: "Rights by a value: VALUE=OWNER:SCOPE+SCOPE[:PROJECT]" }, grantOf),
  ),
});

/** Returns the hub's settings from these options. */
export function signOnOf(values: Values<typeof signOn>) {
  const { webOidcIssuer: issuer, webOidcClientId: clientId, webOidcClientSecret: clientSecret } = values;
  const { webOidcScope: scope, webOidcClaim: claim, webOidcGrant: grants } = values;
  if (issuer === undefined || clientId === undefined) return {};
  return { signOn: { issuer, clientId, clientSecret, scope, claim, grants } };
}
