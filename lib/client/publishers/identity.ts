import { deploymentError, SealiftError, usageError } from "../../contract/errors.ts";
import { MAX_TOKEN_CHARACTERS } from "../../contract/publishers/claims.ts";
import { type ExchangeAnswer, exchangeAnswer } from "../../contract/publishers/publishers.ts";
import { exchangeToken as exchangeRoute } from "../../contract/publishers/routes.ts";
import { baseUrl, pathOf } from "../../contract/surfaces/paths.ts";
import { boundedFetch } from "../../support/network/bounded-fetch.ts";
import type { HubConnection } from "../hub-connection.ts";
import { call } from "../json-request.ts";

/** Gets the token that identifies a CI run, in place of a stored key (docs/ci.md). */

/** Largest answer with an identity token, in bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Variables in which GitHub Actions gives jobs with `id-token: write` the URL and secret for their token. */
const GITHUB = { url: "ACTIONS_ID_TOKEN_REQUEST_URL", secret: "ACTIONS_ID_TOKEN_REQUEST_TOKEN" } as const;

interface TokenOptions {
  /** Claim `aud`: the hub's URL. */
  audience: string;
  /** Token passed in, as GitLab provides it. */
  given: string | undefined;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Returns the identity token of this run: the one passed in, or one from GitHub Actions.
 *
 * @throws UsageError `usage` outside of a CI system, DeploymentError `identity_unavailable` when GitHub gives none
 */
export async function identityToken({ audience, given, env, timeoutMs, signal }: TokenOptions): Promise<string> {
  if (given !== undefined) return checked(given.trim());
  const { [GITHUB.url]: url, [GITHUB.secret]: secret } = env;
  if (url === undefined || secret === undefined)
    throw usageError("usage", "--oidc finds no identity token here.", {
      hint:
        "In GitHub Actions give the job `permissions: id-token: write`; in GitLab declare `id_tokens` with " +
        `SEALIFT_OIDC_TOKEN and \`aud: ${audience}\`; elsewhere give --oidc-token-file.`,
    });
  const address = new URL(url);
  address.searchParams.set("audience", audience);
  try {
    const ask = boundedFetch({ timeoutMs, maxBytes: MAX_ANSWER_BYTES });
    const answer = await ask(address, { headers: { authorization: `bearer ${secret}` }, signal });
    const body: unknown = answer.status === 200 ? await answer.json() : undefined;
    const { value } = (body ?? {}) as { value?: unknown };
    if (typeof value !== "string") throw new Error(`it answered ${answer.status}`);
    return checked(value);
  } catch (error) {
    if (signal.aborted || error instanceof SealiftError) throw signal.reason ?? error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw deploymentError("identity_unavailable", `GitHub Actions gave no identity token: ${code ?? message}.`, {
      hint: "Run the job again.",
    });
  }
}

/** Rejects a text that is not an identity token, before it is sent anywhere. @throws UsageError `usage` */
function checked(token: string): string {
  if (token.length <= MAX_TOKEN_CHARACTERS && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return token;
  throw usageError("usage", "The identity token is not a signed JSON Web Token.");
}

/**
 * Exchanges an identity token for a key that publishes to one target for 15 minutes.
 *
 * @param target `plugin:SLUG`, `service:SLUG`, `project:ID` or `project:NAME`
 * @throws AuthenticationError on 401 and 403, DeploymentError otherwise
 */
export const exchangeToken = (
  { hubUrl, ...transport }: Omit<HubConnection, "apiKey">,
  target: string,
  token: string,
): Promise<ExchangeAnswer> =>
  call(
    {
      ...{ operation: "exchange", method: "POST", url: baseUrl(hubUrl) + pathOf(exchangeRoute) },
      ...{ json: { target, token }, secretBody: true, secrets: [token] },
    },
    exchangeAnswer,
    { hubUrl, ...transport },
  );
