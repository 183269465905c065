import type { FastifyRequest } from "fastify";
import type { ExchangeAnswer } from "../../../contract/publishers/publishers.ts";
import { type Target, targetText } from "../../../contract/target.ts";
import { printable } from "../../../support/printable.ts";
import { auditWriterOf } from "../../access/audit.ts";
import { type AddedProject, addProject, type NameParts, newProject } from "../../access/new-project.ts";
import { conflict, forbidden, HubError } from "../../base/errors.ts";
import { endsOfMade, runEnd } from "../../records/ends.ts";
import { issueKey } from "../../records/keys.ts";
import type { Locked } from "../../records/locked.ts";
import { inTransaction, type TransactedIn } from "../../records/port.ts";
import { lockIfThere, lockProject, type Project } from "../../records/projects.ts";
import { differencesOf, differenceText } from "./claims.ts";
import type { Issuers, VerifiedClaims } from "./issuers.ts";
import {
  againIfMoved,
  claimsOf,
  countTargets,
  lockPublisher,
  noteExchange,
  pendingOf,
  type Publisher,
  publishersFor,
  takeToken,
  targetIdOf,
} from "./records.ts";

const KEY_MS = 15 * 60 * 1000;
/** Longest name of a key. */
const MAX_NAME_CHARACTERS = 255;
/** Claims that number a run, in order of preference for people. */
const RUNS = ["run_id", "job_id", "pipeline_id"];
/** Claims that number the whole run, which may have several jobs. */
const WHOLE_RUNS = ["run_id", "pipeline_id", "job_id"];

/** Parts of the hub that an exchange needs. */
export interface ExchangeParts extends NameParts {
  issuers: Issuers;
}

/**
 * Exchanges the identity token of a workflow run for a key that publishes to one target; creates the target of a
 * pending publisher. A token is accepted once.
 *
 * @param target slug is the id or name of a project
 * @throws HubError 401 for a token that is invalid or was used before, 403 for one that matches no publisher
 */
export async function exchangeToken(
  parts: ExchangeParts,
  request: FastifyRequest,
  { target, token }: { target: Target; token: string },
): Promise<ExchangeAnswer> {
  const { issuer, publishers } = await candidatesFor(parts, target, token);
  const claims = await parts.issuers.verify(issuer, token);
  if (claims.sub !== undefined && typeof claims.sub !== "string")
    throw new HubError(401, "key_rejected", "The identity token has a subject (sub) that is not text.");
  const seen = chosen(publishers, claims, target);
  return againIfMoved(await targetIdOf(parts.database.kysely, seen), (targetId) =>
    exchanged(parts, request, { publisherId: seen.id, targetId, target, token, claims }),
  );
}

/** Identity token that the claims of a publisher match. */
interface Matched {
  publisherId: string;
  /** Id of the publisher's target; null for one that it will create. */
  targetId: string | null;
  target: Target;
  token: string;
  claims: VerifiedClaims;
}

/** Exchanges a token in one transaction, which locks the target before its publisher. @throws HubError 401, 403, 409 */
function exchanged(
  parts: ExchangeParts,
  request: FastifyRequest,
  { publisherId: id, targetId, target, token, claims }: Matched,
): Promise<ExchangeAnswer> {
  const { database, clock } = parts;
  return inTransaction(database.kysely, async (transaction) => {
    const now = clock();
    const expiresAt = new Date(now + KEY_MS).toISOString();
    if (!(await takeToken(transaction, tokenName(claims, token), new Date(claims.exp * 1000 + KEY_MS).toISOString())))
      throw new HubError(401, "key_rejected", "The identity token was exchanged before; ask for another one.");
    const there = targetId === null ? undefined : await lockIfThere(transaction, targetId);
    const publisher = await lockPublisher(transaction, id, there?.id ?? null);
    if (publisher === undefined) throw noPublisher(target, claims.iss);
    const made = there === undefined ? await createTarget(transaction, publisher, parts) : undefined;
    const project = there ?? made!.project;
    const created = made !== undefined;
    const truster = await endsOfMade(transaction, publisher.ends, publisher.created_by);
    const { owner } = project;
    const rights = { name: runName(publisher, claims), scopes: [publisher.scope], host: null, expiresAt };
    const ends = [runEnd(runOf(claims, token)), ...truster];
    const { record, key } = await issueKey(transaction, { ...rights, ends, ownedAs: project, project }, now);
    await noteExchange(transaction, { id, keyId: record.id, projectId: project.id, now: record.created_at });
    // The audit entries name the new key.
    const writeAudit = auditWriterOf(parts, request, { owner, keyId: record.id });
    if (made !== undefined)
      await writeAudit(transaction, { action: "project.create", subject: project.id, facts: made.facts });
    const facts = { publisher: publisher.name, issuer: claims.iss, sub: shortened(claims.sub ?? "") };
    await writeAudit(transaction, { action: "publisher.exchange", subject: project.id, facts });
    return {
      ...{ key, key_id: record.id, expires_at: expiresAt, target: targetText(project), project_id: project.id },
      ...{ name: project.name, publisher: { id, name: publisher.name }, created },
    };
  });
}

/** Finds the publishers that a token may match, before any issuer is contacted: unknown issuers never are. */
async function candidatesFor({ database }: ExchangeParts, target: Target, token: string) {
  const { decodeJwt } = await import("jose");
  let issuer: string | undefined;
  try {
    issuer = decodeJwt(token).iss;
  } catch {
    throw new HubError(401, "key_rejected", "The identity token is not a JSON Web Token.");
  }
  const found = typeof issuer === "string" ? await publishersFor(database.kysely, target, issuer) : [];
  if (issuer === undefined || found.length === 0) throw noPublisher(target, issuer);
  // A plugin or service that is there is nobody else's to create.
  const there = found.find(({ kind }) => kind !== null && kind !== "project");
  return { issuer, publishers: there === undefined ? found : found.filter(({ owner }) => owner === there.owner) };
}

/**
 * Returns one error for unknown targets and for targets without a publisher, so that strangers cannot tell them apart.
 */
const noPublisher = (target: Target, issuer: unknown): HubError =>
  forbidden(
    `${targetText(target)} trusts no workflow of the issuer ${printable(String(issuer)).slice(0, 200)}. ` +
      "Its owner adds one by `sealift publisher add`.",
  );

/**
 * Returns the publisher that matches the claims. @throws HubError 403 with the claims that differ from the nearest
 * publisher's
 */
function chosen(publishers: readonly Publisher[], claims: VerifiedClaims, target: Target): Publisher {
  const [nearest] = publishers
    .map((publisher) => ({
      publisher,
      differences: differencesOf({ audience: publisher.audience, claims: claimsOf(publisher) }, claims),
    }))
    .toSorted((a, b) => a.differences.length - b.differences.length);
  const { publisher, differences } = nearest!;
  // A stranger may give a project this name, or await this slug, and trust the same workflow: claims are not secret.
  if (differences.length === 0 && countTargets(publishers) > 1) throw severalTargets(target);
  if (differences.length === 0) return publisher;
  throw forbidden(
    `The token is not one of ${targetText(target)}'s publisher ${publisher.name}: ${printable(differenceText(differences))}.`,
  );
}

const severalTargets = (target: Target): HubError =>
  conflict(
    target.kind === "project"
      ? `Several projects are named ${printable(target.slug).slice(0, 200)}: name yours by its id.`
      : `Several owners await ${targetText(target)}: create it by \`sealift project create\`, and trust the workflow for it.`,
  );

/** Names a token among those of all issuers: by its id, or by all that is signed where it has none. */
const tokenName = ({ iss, jti }: VerifiedClaims, token: string): string =>
  JSON.stringify([iss, jti ?? token.slice(0, token.lastIndexOf("."))]);

const shortened = (text: string): string => printable(text).slice(0, MAX_NAME_CHARACTERS);

/** Returns a name for a run that is unique over all issuers; all keys of the run have its end. */
function runOf(claims: VerifiedClaims, token: string): string {
  const [claim] = WHOLE_RUNS.filter((name) => typeof claims[name] === "string" || typeof claims[name] === "number");
  return claim === undefined ? tokenName(claims, token) : JSON.stringify([claims.iss, claim, claims[claim]]);
}

/** Names a key after its run; the name is shown with the versions that the run publishes. */
function runName({ name }: Publisher, claims: VerifiedClaims): string {
  const run = RUNS.map((claim) => claims[claim]).find(
    (value) => typeof value === "string" || typeof value === "number",
  );
  return shortened(`${name}: ${claims.sub ?? "?"}${run === undefined ? "" : `, run ${run}`}`);
}

/**
 * Creates the target of a pending publisher.
 *
 * @returns it, with the facts of its audit entry
 * @throws HubError 409 for a name that is taken, or that may not look like another
 */
async function createTarget<In>(
  transaction: TransactedIn<In>,
  publisher: Locked<Publisher, In>,
  { clock, names }: ExchangeParts,
): Promise<{ project: Locked<Project, In>; facts: AddedProject["facts"] }> {
  const { owner } = publisher;
  const { kind, slug, name } = pendingOf(publisher)!;
  const now = clock();
  const project =
    kind === "project"
      ? { ...newProject({ kind, name }, owner, now), id: slug, slug }
      : newProject({ kind, slug, name }, owner, now);
  const { facts } = await addProject(transaction, project, { names, viewer: { owner, isAdministrator: false } });
  return { project: await lockProject(transaction, project.id), facts };
}
