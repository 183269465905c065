import { witnessOf } from "../access/audit.ts";
import type { Grant, Person } from "../access/sign-on.ts";
import { actAs } from "../access/web-calls.ts";
import { SESSION_MS } from "../access/web-sessions.ts";
import { forbidden, HubError, keyRejected, notFound } from "../ground/errors.ts";
import { hashOf } from "../ground/identity.ts";
import type { Principal } from "../ground/principal.ts";
import { findKey } from "../records/access.ts";
import { keyOfPerson, revokeKeysOfPerson } from "../records/keys.ts";
import { inTransaction, type Transacted } from "../records/port.ts";
import { findProject } from "../records/projects.ts";
import { type Desk, field, queryOf, type Screen } from "./desk.ts";
import { SignedOnPage, SignInPage } from "./sign-in-page.tsx";
import { pagePaths } from "./view.ts";
import { ownPath } from "./visitor.ts";

const MAX_KEY_CHARACTERS = 512;

export const askForKey: Screen = async (_desk, request) => {
  const next = ownPath(queryOf(request, "next"));
  if (request.visitor?.principal !== undefined) return { goTo: next };
  return <SignInPage next={next} fault={undefined} />;
};

/** Exchanges a key for a session. Wrong ones are counted with those of the API. */
export const signIn: Screen = async ({ hub, authentication }, request) => {
  const next = ownPath(field(request, "next"));
  const key = (field(request, "key") ?? "").trim().slice(0, MAX_KEY_CHARACTERS);
  const hash = hashOf(key);
  const principal = await findKey(hub.database.statements, hash, hub.now());
  if (principal === undefined) {
    const error = authentication.rejected(request, keyRejected(), key);
    if (error.statusCode !== 401) throw error;
    throw new SignInFailed(error, next);
  }
  authentication.accepted(request, principal);
  request.newSession = hub.webSessions.issue(hash);
  return { goTo: next };
};

function signOnOf({ hub: { signOn } }: Desk) {
  if (signOn === undefined) throw notFound("There is no such page.");
  return signOn;
}

/** The address of this hub that the identity provider leads back to. */
const redirectUri = ({ hub }: Desk): string => hub.publicUrl().replace(/\/+$/, "") + pagePaths.signedOn();

/** Leads to the identity provider. */
export const beginSignOn: Screen = async (desk, request) => {
  const { address, attempt } = await signOnOf(desk).begin(redirectUri(desk), ownPath(queryOf(request, "next")));
  request.newAttempt = attempt;
  return { goTo: address, isAway: true };
};

/** Exchanges the identity provider's answer for a session. Wrong ones are counted with wrong keys. */
export const finishSignOn: Screen = async (desk, request) => {
  const { hub, authentication, cookies } = desk;
  const signOn = signOnOf(desk);
  const answer = new URL(redirectUri(desk));
  answer.search = request.url.split("?", 2)[1] ?? "";
  const finished = signOn.finish(cookies.attempt(request), answer).catch((error: HubError) => {
    hub.logger?.info({ requestId: request.id, reason: reasonOf(error) }, "a sign-in by the identity provider failed");
    if (error.statusCode !== 401) throw error;
    const told = authentication.rejected(request, error, "");
    throw told.statusCode === 401 ? new SignInFailed(told, "/") : told;
  });
  const { person, grant, next } = await finished;
  if (grant === undefined) {
    const revoke = (transaction: Transacted) => revokeKeysOfPerson(transaction, nameOf(person), hub.clock());
    const revoked = await inTransaction(hub.database.kysely, revoke);
    if (revoked.length > 0) hub.logger?.info({ revoked }, "ended the sessions of a person who has no grant any more");
    throw forbidden("You are signed in, but the hub grants you nothing. Ask its operator.");
  }
  const { principal, keyHash } = await keyFor(desk, request, { person, grant });
  authentication.accepted(request, principal);
  const token = hub.webSessions.issue(keyHash, { subject: person.subject, grant: signOn.nameOf(grant) });
  request.newSession = token;
  request.newAttempt = "";
  request.visitor = { principal, keyHash, cookie: token };
  return <SignedOnPage next={ownPath(next)} />;
};

/** The cause, for the operator; never what a token says. */
const reasonOf = ({ message, cause }: HubError): string => (cause instanceof Error ? cause.message : message);

/** Names the keys of a person. */
const nameOf = ({ subject, issuer }: Person): string => `${subject} by ${issuer}`;

/** Gives a person the key that their session stands for, and writes the sign-in down. */
async function keyFor(
  { hub }: Desk,
  request: Parameters<Screen>[1],
  { person, grant: { owner, scopes, projectId } }: { person: Person; grant: Grant },
): Promise<{ principal: Principal; keyHash: string }> {
  const db = hub.database.kysely;
  if (projectId !== null && (await findProject(db, projectId))?.owner !== owner)
    throw forbidden("The hub grants you a project that is not there. Ask its operator.");
  const now = hub.clock();
  const expiresAt = new Date(now + SESSION_MS).toISOString();
  const name = nameOf(person);
  return inTransaction(db, async (transaction) => {
    const wanted = { name, owner, scopes, projectId, expiresAt };
    const { id, hash, replaced } = await keyOfPerson(transaction, wanted, now);
    const principal = { keyId: id, owner, scopes: new Set(scopes), projectId, expiresAt };
    actAs(request, hash, person);
    const ended = replaced.length > 0 && { revoked: replaced.join(" ") };
    const facts = { owner, scopes: scopes.join(" "), project_id: projectId, ...ended };
    await witnessOf(hub, request, principal)(transaction, { action: "web.sign-in", subject: id, facts });
    return { principal, keyHash: hash };
  });
}

/** A key that was refused: its answer is the page that asks again. */
export class SignInFailed extends HubError {
  readonly next: string;

  constructor({ statusCode, code, message }: HubError, next: string) {
    super(statusCode, code, message);
    this.next = next;
  }
}

export const signOut: Screen = async (_desk, request) => {
  request.newSession = "";
  return Promise.resolve({ goTo: "/sign-in" });
};
