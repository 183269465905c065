import type { FastifyRequest } from "fastify";
import * as routes from "../../contract/marketplace/routes.ts";
import type { TargetDetail } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { serve, type Served } from "../access/serve.ts";
import type { SeenTarget, TargetAccessParts } from "../access/target-access.ts";
import { targetAccess } from "../access/target-access.ts";
import { notFound } from "../base/errors.ts";
import { pageOf } from "../http/documentation.ts";
import { addGrant, listGrants, removeGrant } from "../records/grants.ts";
import { yankVersion } from "../records/managed-versions.ts";
import { subjectOf } from "../records/subjects.ts";
import { versionRecord } from "../records/target-detail.ts";
import { describeTarget } from "../records/targets.ts";
import { findVersion } from "../records/versions.ts";

/** Routes with which an owner manages a plugin or service: yank, describe, hide, grant. */
export function marketplaceManage(options: MountOptions<TargetAccessParts>, kind: MarketplaceKind): readonly Served[] {
  const { hub } = options;
  const db = hub.database.kysely;
  const access = targetAccess(kind, options);

  /** Yanks a version. @param why undefined restores it */
  async function yank(
    request: FastifyRequest<{ Params: { slug: string; version: string } }>,
    { id, principal }: SeenTarget,
    why: { reason: string | null } | undefined,
  ) {
    const { slug, version } = request.params;
    const record = await audited(hub, request, { principal, projectIds: [id] }, async (transaction, tell) => {
      const change = { version, yanked: why !== undefined, reason: why?.reason ?? null };
      const hasChanged = await yankVersion(transaction, { id }, change, hub.clock());
      const row = await findVersion(transaction, id, version);
      if (row === undefined) throw notFound(`The ${kind} has no such version.`);
      const action = why === undefined ? "version.unyank" : "version.yank";
      if (hasChanged === true) await tell({ action, subject: subjectOf({ kind, slug }), facts: { version, ...why } });
      return versionRecord(row);
    });
    return record;
  }

  return [
    serve(routes.yankTargetVersion[kind], access.controlled, async (request, target) =>
      yank(request, target, { reason: request.body?.reason ?? null }),
    ),

    serve(routes.unyankTargetVersion[kind], access.controlled, async (request, target) =>
      yank(request, target, undefined),
    ),

    serve(routes.changeTarget[kind], access.controlled, async (request, { id, principal }) => {
      const { slug } = request.params;
      const facts = { changed: Object.keys(request.body).join(" "), visibility: request.body.visibility ?? null };
      await audited(hub, request, { principal, projectIds: [id] }, async (transaction, tell) => {
        await describeTarget(transaction, id, request.body, hub.clock());
        await tell({ action: "target.change", subject: subjectOf({ kind, slug }), facts });
      });
      const { detail } = await access.detail(request);
      return JSON.parse(detail) as TargetDetail;
    }),

    serve(routes.listGrants[kind], access.controlled, async (request, { id }) =>
      pageOf(request.query, { by: "owner" }, (range) => listGrants(db, id, range)),
    ),

    serve(routes.addGrant[kind], access.controlled, async (request, { id, principal }) =>
      audited(hub, request, { principal, projectIds: [id] }, async (transaction, tell) => {
        const { grant, isNew } = await addGrant(transaction, id, request.body.owner, hub.now());
        const subject = subjectOf({ kind, slug: request.params.slug });
        if (isNew) await tell({ action: "grant.add", subject, facts: { owner: grant.owner } });
        return grant;
      }),
    ),

    serve(routes.removeGrant[kind], access.controlled, async (request, { id, principal }) => {
      const { slug, owner } = request.params;
      await audited(hub, request, { principal, projectIds: [id] }, async (transaction, tell) => {
        if (!(await removeGrant(transaction, id, owner))) throw notFound("There is no such grant.");
        await tell({ action: "grant.remove", subject: subjectOf({ kind, slug }), facts: { owner } });
      });
    }),
  ];
}
