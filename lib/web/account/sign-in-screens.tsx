import { showOwnKey } from "../../contract/keys/routes.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { forbidden, HubError, notFound } from "../../hub/base/errors.ts";
import { hashOf } from "../../hub/base/identity.ts";
import { callerOf, callTo } from "../page/api.ts";
import { field, type PageContext, queryOf, type Screen } from "../page/context.ts";
import { SignInFailed } from "../page/errors.ts";
import { SignedOnPage, SignInPage } from "../page/sign-in-page.tsx";
import { pagePaths } from "../page/view.ts";
import { ownPath } from "../page/visitor.ts";

const MAX_KEY_CHARACTERS = 512;

export const askForKey: Screen = async (_context, request) => {
  const next = ownPath(queryOf(request, "next"));
  if (request.visitor?.principal !== undefined) return { goTo: next };
  return <SignInPage next={next} fault={undefined} />;
};

/** Strips characters that no key has, so that a header can carry it. */
const asHeader = (key: string): string => key.replace(/[^!-~]/g, "?") || "?";

/** Exchanges a key for a session. Wrong keys count towards the API's limits, whose route checks them. */
export const signIn: Screen = async ({ hub, authentication, api }, request) => {
  const next = ownPath(field(request, "next"));
  const key = (field(request, "key") ?? "").trim().slice(0, MAX_KEY_CHARACTERS);
  const nobody = { ...callerOf(request), visitor: null };
  const headers = { [HEADERS.apiKey]: asHeader(key) };
  const owned = api.call(nobody, { ...callTo(showOwnKey, {}), headers });
  await owned.catch((error: unknown) => {
    throw error instanceof HubError && error.statusCode === 401 ? new SignInFailed(error, next) : error;
  });
  authentication.accepted(request);
  request.newSession = hub.webSessions.issue(hashOf(key));
  return { goTo: next };
};

function wayOf({ hub: { signIn } }: PageContext) {
  if (signIn === undefined) throw notFound("There is no such page.");
  return signIn;
}

/** Returns the address of this hub to which the identity provider sends people back. */
const redirectUri = ({ hub }: PageContext): string => hub.publicUrl().replace(/\/+$/, "") + pagePaths.signedOn();

/** Redirects to the identity provider. */
export const beginSignOn: Screen = async (context, request) => {
  const { address, attempt } = await wayOf(context).begin(redirectUri(context), ownPath(queryOf(request, "next")));
  request.newAttempt = attempt;
  return { goTo: address, isAway: true };
};

/** Exchanges the identity provider's answer for a session. Wrong answers count like wrong keys. */
export const finishSignOn: Screen = async (context, request) => {
  const { hub, authentication, cookies, personKeys } = context;
  const way = wayOf(context);
  const answer = new URL(redirectUri(context));
  answer.search = request.url.split("?", 2)[1] ?? "";
  const finished = way.finish(cookies.attempt(request), answer).catch((error: HubError) => {
    hub.logger?.info({ requestId: request.id, reason: reasonOf(error) }, "a sign-in by the identity provider failed");
    if (error.statusCode !== 401) throw error;
    const rejection = authentication.rejected(request, error, "");
    throw rejection.statusCode === 401 ? new SignInFailed(rejection, "/") : rejection;
  });
  const { person, grant, next } = await finished;
  if (grant === undefined) {
    await personKeys.end(person);
    throw forbidden("You are signed in, but the hub grants you nothing. Ask its operator.");
  }
  const { principal, keyHash } = await personKeys.give(request, { person, grant });
  authentication.accepted(request, principal);
  const token = hub.webSessions.issue(keyHash, { subject: person.subject, grant: way.nameOf(grant) });
  request.newSession = token;
  request.newAttempt = "";
  request.visitor = { principal, keyHash, cookie: token };
  return <SignedOnPage next={ownPath(next)} />;
};

/** Returns the cause, for the operator; never the content of a token. */
const reasonOf = ({ message, cause }: HubError): string => (cause instanceof Error ? cause.message : message);

export const signOut: Screen = async (_context, request) => {
  request.newSession = "";
  return Promise.resolve({ goTo: "/sign-in" });
};
