import { GITHUB_ISSUER, GITLAB_ISSUER } from "../contract/publishers/claims.ts";
import { parsePlace } from "./addresses.ts";
import { connection, isByRun } from "./connection.ts";
import { removal } from "./devkeys.ts";
import { flag, list, parsed, text, url } from "./kinds.ts";
import { group, guarded, required, requiredWhen, type Values } from "./option.ts";
import { secret } from "./secrets.ts";

/** Options of the commands for trusted publishers, and of publishing as one. */

const ISSUERS: Readonly<Record<string, string>> = { github: GITHUB_ISSUER, gitlab: GITLAB_ISSUER };

const issuerUrl = url({ help: "" });

function claimOf(given: string): readonly [name: string, value: string] {
  const equals = given.indexOf("=");
  if (equals > 0 && equals < given.length - 1) return [given.slice(0, equals), given.slice(equals + 1)];
  throw new Error(`is NAME=VALUE, not ${JSON.stringify(given)}`);
}

/** Options of `hub serve` for publishers. */
export const publisherServing = group("Server", {
  issuerAllow: guarded(
    list(
      {
        metavar: "PLACE",
        help: "Host, address or network (CIDR) of CI token issuers",
        defaultText: "the public internet by https",
      },
      parsePlace,
    ),
  ),
});

/** Returns the settings of a hub's publishers. */
export const publisherServingOf = ({ issuerAllow }: Values<typeof publisherServing>) =>
  issuerAllow.length > 0 ? { issuerAllow } : {};

/** Options of `publisher add`. */
export const publisherAddition = {
  ...group("Publisher", {
    name: required(text({ metavar: "NAME", help: "How commands and lists call it, such as release" })),
    issuer: required(
      parsed(
        { metavar: "URL", help: "Who gives the runs their identity: github, gitlab or a URL" },
        (given) => ISSUERS[given] ?? issuerUrl.parse(given)!,
      ),
    ),
    claim: list({ metavar: "NAME=VALUE", help: "A claim that the token must have, exactly; repeated" }, claimOf),
    audience: text({ metavar: "TEXT", help: "What the token is made for", defaultText: "the hub's URL" }),
    stage: flag({ help: "Its runs only stage versions: another person approves" }),
    pending: flag({ help: "Have its first publication create the target" }),
  }),
  ...connection,
};

/** Options of `publisher test`. */
export const publisherTest = {
  ...group("Publisher", {
    token: required(secret({ metavar: "TOKEN", help: "The identity token of a run", fileOnly: true })),
  }),
  ...connection,
};

/** Options of `publisher remove`. */
export const publisherRemoval = removal;

/** Advice where a publication has neither a key nor the identity of a run. */
export const KEY_OR_RUN =
  "Give a key as SEALIFT_API_KEY or --api-key-file PATH, or publish as a CI run with --oidc: --oidc-token-file needs it.";

/** Options of publishing with the identity of a CI run, in place of an API key. */
export const identity = group("Identity", {
  oidc: flag({ help: "Publish as this CI run, without an API key" }),
  oidcToken: requiredWhen(
    secret({ metavar: "TOKEN", help: "The run's identity token, where it is not GitHub's", fileOnly: true }),
    (known) => (isByRun(known) ? "if given" : false),
  ),
  oidcAudience: guarded(text({ metavar: "TEXT", help: "What the token is made for", defaultText: "the hub's URL" })),
});
