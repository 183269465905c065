import { missingClaims } from "../../../contract/publishers/claims.ts";
import type { PublisherRequest } from "../../../contract/publishers/publishers.ts";
import * as routes from "../../../contract/publishers/routes.ts";
import { parseTarget, type Target, targetText } from "../../../contract/target.ts";
import { audited } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { viewOf } from "../../access/key-rights.ts";
import { type NameParts, newProject, requireDistinct } from "../../access/new-project.ts";
import { serve, type Served } from "../../access/serve.ts";
import { conflict, forbidden, HubError, notFound, unprocessable } from "../../base/errors.ts";
import { recordId } from "../../base/identity.ts";
import { type Principal, requireScope } from "../../base/principal.ts";
import { controls } from "../../base/rights.ts";
import { pageOf } from "../../http/documentation.ts";
import { type SeenLookAlikes, seenOf } from "../../records/look-alikes.ts";
import { deletedAt } from "../../records/project-deletion.ts";
import type { Project } from "../../records/projects.ts";
import { selectWhere } from "../../records/rows.ts";
import type { Core } from "../feature.ts";
import { differencesOf } from "./claims.ts";
import { exchangeToken } from "./exchange.ts";
import type { Issuers } from "./issuers.ts";
import {
  againIfMoved,
  claimsOf,
  findPublisher,
  insertPublisher,
  listPublishers,
  lockPublisher,
  type Publisher,
  publisherRecord,
  removePublisher,
  targetIdOf,
} from "./records.ts";

const noSuchPublisher = () => notFound("There is no such publisher.");

/**
 * Routes of trusted publishers, for owners of targets, and of the exchange, for workflow runs
 * (docs/contract/publishers.md).
 */
export function publishers({ hub, authentication }: MountOptions<Core>, issuers: Issuers): readonly Served[] {
  const db = hub.database.kysely;

  async function owned(principal: Principal, id: string): Promise<Publisher> {
    const found = await findPublisher(db, viewOf(principal), id);
    if (found === undefined) throw noSuchPublisher();
    return found;
  }

  return [
    serve(routes.addPublisher, async (request, principal) => {
      // A workflow gets no right that its creator lacks.
      requireScope(principal, "publish");
      const { name, issuer, audience, claims, scope = "publish" } = request.body;
      requireIds(issuer, claims);
      const place = await placeOf(hub, principal, request.body);
      await issuers.require(issuer);
      const facts = {
        ...{ id: recordId("pub", hub.clock()), name, project_id: place.project?.id ?? null },
        ...{ pending: place.pending, pending_name: place.pendingName, issuer, audience, scope },
        ...{ claims: JSON.stringify(claims), created_at: hub.now(), last_used_at: null },
      };
      const authority = { principal, projectIds: [facts.project_id] } as const;
      const row = await audited(hub, request, authority, async (transaction, tell, { caller, targets: [target] }) => {
        const added = await insertPublisher(transaction, { maker: caller, target }, facts);
        const { id: subject, claims: text } = added;
        const told = { name, issuer, target: place.pending ?? targetText(place.project!), scope, claims: text };
        await tell({ action: "publisher.add", subject, facts: told });
        return added;
      });
      const record = publisherRecord({ ...row, kind: place.project?.kind ?? null, slug: place.project?.slug ?? null });
      return { ...record, ...place.seen };
    }),

    serve(routes.listPublishers, (request, principal) =>
      pageOf(request.query, { by: "id", show: publisherRecord }, (range) =>
        listPublishers(db, viewOf(principal), range),
      ),
    ),

    serve(routes.removePublisher, async (request, principal) => {
      const seen = await owned(principal, request.params.publisher);
      await againIfMoved(await targetIdOf(db, seen), async (targetId) => {
        await audited(hub, request, { principal, projectIds: [targetId] }, async (transaction, tell) => {
          const publisher = await lockPublisher(transaction, seen.id, targetId);
          if (publisher === undefined) throw noSuchPublisher();
          await removePublisher(transaction, publisher, hub.now());
          await tell({ action: "publisher.remove", subject: publisher.id, facts: { name: publisher.name } });
        });
      });
    }),

    serve(routes.testPublisher, async (request, principal) => {
      const publisher = await owned(principal, request.params.publisher);
      const { issuer, audience } = publisher;
      const token = await issuers.verify(issuer, request.body.token);
      const differences = differencesOf({ audience, claims: claimsOf(publisher) }, token);
      return { matches: differences.length === 0, differences };
    }),

    serve(routes.exchangeToken, async (request) => {
      const { target, token } = request.body;
      try {
        return await exchangeToken({ ...hub, issuers }, request, { target: targetOf(target), token });
      } catch (error) {
        const isGuess = error instanceof HubError && (error.statusCode === 401 || error.statusCode === 403);
        throw isGuess ? authentication.rejected(request, error, "exchange") : error;
      }
    }),
  ];
}

/** Reads a target whose slug may be a project's name, with blanks in it. */
function targetOf(text: string): Target {
  const colon = text.indexOf(":");
  return { kind: text.slice(0, colon) as Target["kind"], slug: text.slice(colon + 1) };
}

/** Requires the claims without which an issuer's tokens may change hands. @throws HubError 422 */
function requireIds(issuer: string, claims: object): void {
  const missing = missingClaims(issuer, claims).map((names) => names.join(" or "));
  if (missing.length > 0)
    throw unprocessable(`claims: a publisher of ${issuer} names ${missing.join(", ")}, too: names alone can move.`);
}

/** Target of a new publisher: an existing one, or one that it will create. */
interface PublisherTarget {
  project?: Project;
  pending: string | null;
  pendingName: string | null;
  /** Look-alikes of the slug that it will create, of those that the caller sees. */
  seen?: SeenLookAlikes;
}

/**
 * Returns the target of a new publisher. @throws HubError 403, 404 or 409 for a target that is not the caller's, or
 * cannot be created; 422 for none or two
 */
async function placeOf(
  { database, names }: NameParts,
  principal: Principal,
  { target, creates }: PublisherRequest,
): Promise<PublisherTarget> {
  const db = database.kysely;
  if ((target === undefined) === (creates === undefined)) throw unprocessable("Give either target or creates.");
  if (target !== undefined) {
    const project = await selectWhere(db, "projects", parseTarget(target)).selectAll().executeTakeFirst();
    if (project === undefined || !controls(principal, project)) throw notFound("There is no such target.");
    return { project, pending: null, pendingName: null };
  }
  requireScope(principal, "projects");
  if (principal.projectId !== null) throw forbidden("The key is bound to another target.");
  const { owner } = principal;
  const { kind, slug, name } = newProject(creates!, owner, 0);
  const taken = await selectWhere(db, "projects", { kind, slug }).select("id").executeTakeFirst();
  if (taken !== undefined || (await deletedAt(db, { kind, slug })) !== undefined)
    throw conflict(`The ${kind} slug ${slug} is taken.`);
  // Whoever asks, the target will be created by a run, which is no administrator.
  const rule = { names, viewer: { owner, isAdministrator: false } };
  const seen = seenOf(await requireDistinct(db, { kind, slug, owner }, rule));
  return { pending: targetText({ kind, slug }), pendingName: name, seen };
}
