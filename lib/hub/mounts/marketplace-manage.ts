import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { page, pageQuery } from "../../contract/paging.ts";
import { noContent } from "../../contract/route.ts";
import {
  grantRecord,
  grantRequest,
  targetChanges,
  type TargetDetail,
  targetDetail,
  versionRecord as versionSchema,
  yankRequest,
} from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import { targetAccess, targetParams, versionParams } from "../access/target-access.ts";
import { notFound } from "../ground/errors.ts";
import { errors, pageOf, security } from "../http/documentation.ts";
import { addGrant, listGrants, removeGrant } from "../records/grants.ts";
import { yankVersion } from "../records/managed-versions.ts";
import { loggedTarget } from "../records/reports.ts";
import { versionRecord } from "../records/target-detail.ts";
import { describeTarget } from "../records/targets.ts";
import { findVersion } from "../records/versions.ts";

/** Routes of an owner for a plugin or service beside publishing: import, yank, describe, hide, grant. */
export const marketplaceManage: FastifyPluginAsyncZod<
  MountOptions<TargetAccessParts> & { kind: MarketplaceKind }
> = async (app, options) => {
  const { hub, kind } = options;
  const db = hub.database.kysely;
  const access = targetAccess(kind, options);
  const subjectOf = (slug: string) => loggedTarget(kind, slug);
  const shared = { tags: [kind === "plugin" ? "plugins" : "services"], security: security.key };

  /** Yanks a version. @param why undefined takes that back */
  async function yank(
    request: FastifyRequest,
    { slug, version }: z.output<typeof versionParams>,
    why: { reason: string | null } | undefined,
  ) {
    const { id, principal } = await access.controlled(request, slug, "publish");
    const record = await audited(hub, request, principal, async (transaction, tell) => {
      const change = { version, yanked: why !== undefined, reason: why?.reason ?? null };
      await yankVersion(transaction, { id }, change, hub.clock());
      const row = await findVersion(transaction, id, version);
      if (row === undefined) throw notFound(`The ${kind} has no such version.`);
      const action = why === undefined ? "version.unyank" : "version.yank";
      await tell({ action, subject: subjectOf(slug), facts: { version, ...why } });
      return versionRecord(row);
    });
    await hub.rollouts.versionsChanged(id);
    return record;
  }

  app.post("/:slug/versions/:version/yank", {
    schema: {
      ...shared,
      summary: "Yank a version: it stays installable by its label, and is no longer the latest",
      params: versionParams,
      body: yankRequest.nullish(),
      response: { 200: versionSchema, ...errors(401, 403, 404, 415, 422) },
    },
    async handler(request) {
      return yank(request, request.params, { reason: request.body?.reason ?? null });
    },
  });

  app.delete("/:slug/versions/:version/yank", {
    schema: {
      ...shared,
      summary: "Take a yank back",
      params: versionParams,
      response: { 200: versionSchema, ...errors(401, 403, 404) },
    },
    async handler(request) {
      return yank(request, request.params, undefined);
    },
  });

  app.patch("/:slug", {
    schema: {
      ...shared,
      summary: `Describe a ${kind}, or make it public or private`,
      params: targetParams,
      body: targetChanges,
      response: { 200: targetDetail, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request) {
      const { slug } = request.params;
      const { id, principal } = await access.controlled(request, slug, "publish", "projects");
      const facts = { changed: Object.keys(request.body).join(" "), visibility: request.body.visibility ?? null };
      await audited(hub, request, principal, async (transaction, tell) => {
        await describeTarget(transaction, id, request.body, hub.clock());
        await tell({ action: "target.change", subject: subjectOf(slug), facts });
      });
      const { detail } = await access.detail(request, slug);
      return JSON.parse(detail) as TargetDetail;
    },
  });

  app.get("/:slug/grants", {
    schema: {
      ...shared,
      summary: `The owners who may see the private ${kind}`,
      params: targetParams,
      querystring: pageQuery,
      response: { 200: page(grantRecord), ...errors(401, 403, 404, 422) },
    },
    async handler(request) {
      const { id } = await access.controlled(request, request.params.slug, "publish", "projects");
      return pageOf(request.query, { by: "owner" }, (range) => listGrants(db, id, range));
    },
  });

  app.post("/:slug/grants", {
    schema: {
      ...shared,
      summary: `Let an owner's keys see the private ${kind}`,
      params: targetParams,
      body: grantRequest,
      response: { 201: grantRecord, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request, reply) {
      const { slug } = request.params;
      const { id, principal } = await access.controlled(request, slug, "publish", "projects");
      const grant = await audited(hub, request, principal, async (transaction, tell) => {
        const added = await addGrant(transaction, id, request.body.owner, hub.now());
        await tell({ action: "grant.add", subject: subjectOf(slug), facts: { owner: added.owner } });
        return added;
      });
      return reply.code(201).send(grant);
    },
  });

  app.delete("/:slug/grants/:owner", {
    schema: {
      ...shared,
      summary: "Take a grant back",
      params: targetParams.extend({ owner: z.string() }),
      response: { 204: noContent, ...errors(401, 403, 404) },
    },
    async handler(request, reply) {
      const { slug, owner } = request.params;
      const { id, principal } = await access.controlled(request, slug, "publish", "projects");
      await audited(hub, request, principal, async (transaction, tell) => {
        if (!(await removeGrant(transaction, id, owner))) throw notFound("There is no such grant.");
        await tell({ action: "grant.remove", subject: subjectOf(slug), facts: { owner } });
      });
      return reply.code(204).send(null);
    },
  });
};
