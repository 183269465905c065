import type { FastifyRequest } from "fastify";
import type { Scope } from "../../contract/surfaces/keys.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { forbidden, keyMissing, notFound } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import { controls } from "../base/rights.ts";
import { answerHost, type AskedBy } from "../gate/host-answer.ts";
import { detailFor } from "../gate/latest.ts";
import type { FleetKey } from "../records/fleet.ts";
import type { Records } from "../records/port.ts";
import { hostOf, type Sightings } from "../records/sightings.ts";
import { fleetOf } from "../records/subjects.ts";
import {
  findVisibleTarget,
  findVisibleVersion,
  type TargetQuery,
  type VisibleTarget,
} from "../records/visible-targets.ts";
import type { MountOptions } from "./authentication.ts";
import { credentialHash } from "./credentials.ts";
import { requireOneOf } from "./serve.ts";

/** Returns the one answer, byte for byte, for a hidden target and for one that does not exist. */
export const noSuchTarget = (kind: MarketplaceKind) => notFound(`There is no such ${kind}, or none that you may see.`);

/** Request whose path names a target. */
export type TargetRequest = FastifyRequest<{ Params: { slug: string } }>;

/** Target, with the key that may see it. */
export type SeenTarget = VisibleTarget & { principal: Principal };

/** Lookups of targets of one kind, with the caller's rights. */
export interface TargetAccess {
  /** Returns the detail record to any caller that may see it. A key is optional, but an invalid one is rejected. */
  detail: (request: TargetRequest) => Promise<{ detail: string; etag: string }>;
  /** Returns a version to a key with one of the scopes. @param version undefined for the latest */
  version: (
    request: TargetRequest,
    scopes: readonly Scope[],
    version: string | undefined,
  ) => ReturnType<typeof findVisibleVersion>;
  /** Returns the target to a key with one of the scopes that may see it. */
  seen: (request: TargetRequest, scopes: readonly Scope[]) => Promise<SeenTarget>;
  /** Returns the target to a key with one of the scopes that may change it. @throws 403 when the key may only see it */
  controlled: (request: TargetRequest, scopes: readonly Scope[]) => Promise<SeenTarget>;
  question: (request: FastifyRequest, slug: string) => TargetQuery;
}

/** Parts of the hub that access to plugins and services needs. */
export interface TargetAccessParts extends Records {
  sightings: Sightings;
}

/** @param view of the caller's reports */
export const askedBy = (
  principal: Principal | undefined,
  { owner }: VisibleTarget,
  view: FleetKey | undefined,
): AskedBy => ({ view, isOwners: principal?.owner === owner });

export function targetAccess(
  kind: MarketplaceKind,
  { hub, authentication }: MountOptions<TargetAccessParts>,
): TargetAccess {
  const { statements } = hub.database;
  const carriesKey = (request: FastifyRequest) => request.headers["x-api-key"] !== undefined;

  const rejected = async (request: FastifyRequest) =>
    authentication.rejected(request, await authentication.refusal(credentialHash(request)));

  const question = (request: FastifyRequest, slug: string): TargetQuery => ({
    kind,
    slug,
    // Sessions are not valid on surface A.
    credentialHash: carriesKey(request) ? credentialHash(request) : undefined,
    hostId: hostOf(request.headers),
    now: hub.now(),
  });

  const seen: TargetAccess["seen"] = async (request, scopes) => {
    if (!carriesKey(request)) throw keyMissing();
    const { principal, target } = await findVisibleTarget(statements, question(request, request.params.slug));
    if (principal === undefined) throw await rejected(request);
    authentication.accepted(request, principal);
    requireOneOf(principal, scopes);
    if (target === undefined) throw noSuchTarget(kind);
    return { ...target, principal };
  };

  return {
    question,
    seen,
    async detail(request) {
      const { slug } = request.params;
      const { principal, target } = await findVisibleTarget(statements, question(request, slug));
      if (principal === undefined && carriesKey(request)) throw await rejected(request);
      if (principal !== undefined) authentication.accepted(request, principal);
      if (target === undefined) throw noSuchTarget(kind);
      const view = principal && fleetOf({ kind, slug, owner: principal.owner });
      if (view !== undefined) hub.sightings.note(request, view);
      if (target.gate === null) return target;
      return detailFor(target, answerHost(hub, target, request, askedBy(principal, target, view)));
    },
    async version(request, scopes, version) {
      const { slug } = request.params;
      if (!carriesKey(request)) throw keyMissing();
      const found = await findVisibleVersion(statements, { ...question(request, slug), version });
      if (found.principal === undefined) throw await rejected(request);
      authentication.accepted(request, found.principal);
      requireOneOf(found.principal, scopes);
      const { principal, target } = found;
      if (target === undefined) throw noSuchTarget(kind);
      if (version !== undefined || target.gate === null) return found;
      const view = fleetOf({ kind, slug, owner: principal.owner });
      const answer = answerHost(hub, target, request, askedBy(principal, target, view));
      if (answer.version === null) return { ...found, version: undefined };
      return findVisibleVersion(statements, { ...question(request, slug), version: answer.version });
    },
    async controlled(request, scopes) {
      const found = await seen(request, scopes);
      if (!controls(found.principal, found)) throw forbidden(`The key may not change this ${kind}.`);
      return found;
    },
  };
}
