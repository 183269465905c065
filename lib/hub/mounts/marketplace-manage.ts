import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { page } from "../../contract/surfaces/keys.ts";
import {
  grantRecord,
  grantRequest,
  importRequest,
  releaseRecord as releaseSchema,
  targetChanges,
  type TargetDetail,
  targetDetail,
  yankRequest,
} from "../../contract/surfaces/marketplace.ts";
import type { TargetKind } from "../../contract/surfaces/paths.ts";
import { audit } from "../access/audit.ts";
import { releaseParams, targetAccess, targetParams } from "../access/target-access.ts";
import { errors, type MountOptions, noContent, pageOf, pageQuery, security } from "../http/documentation.ts";
import { notFound } from "../http/errors.ts";
import { importRelease } from "../publications/import/import-release.ts";
import { addGrant, listGrants, removeGrant } from "../records/grants.ts";
import { describeTarget, releaseRecord, setYanked } from "../records/targets.ts";
import { archiveExists } from "./marketplace-publish.ts";

/** Routes of an owner for a plugin or service beside publishing: import, yank, describe, hide, grant. */
export const marketplaceManage: FastifyPluginAsyncZod<MountOptions & { kind: TargetKind }> = async (app, options) => {
  const { hub, kind } = options;
  const db = hub.database.kysely;
  const access = targetAccess(kind, options);
  const subjectOf = (slug: string) => `${kind}/${slug}`;
  const shared = { tags: [kind === "plugin" ? "plugins" : "services"], security: security.key };

  app.post("/:slug/import", {
    schema: {
      ...shared,
      summary: `Publish a version of a ${kind} from its source host, signed with the registered secret`,
      params: targetParams,
      body: importRequest,
      response: {
        200: releaseSchema.describe("The very same archive is published already."),
        201: releaseSchema,
        ...errors(400, 401, 403, 404, 413, 415, 422, 502),
        409: archiveExists,
      },
    },
    async handler(request, reply) {
      const target = await access.controlled(request, request.params.slug, "publish");
      // The source host has its own time-outs; on this connection nothing moves until it is done.
      request.raw.socket.setTimeout(0);
      const { record, created } = await importRelease(hub, { ...target, kind }, request.body);
      const facts = { version: record.version, sha256: record.sha256, repo: record.repo, created };
      const subject = subjectOf(request.params.slug);
      await audit(hub, request, target.principal, { action: "version.import", subject, facts });
      return reply.code(created ? 201 : 200).send(releaseRecord(record));
    },
  });

  app.post("/:slug/versions/:version/yank", {
    schema: {
      ...shared,
      summary: "Yank a version: it stays installable by its label, and is no longer the latest",
      params: releaseParams,
      body: yankRequest.nullish(),
      response: { 200: releaseSchema, ...errors(401, 403, 404, 415, 422) },
    },
    async handler(request) {
      const { slug, version } = request.params;
      const { id, principal } = await access.controlled(request, slug, "publish");
      const reason = request.body?.reason ?? null;
      const release = await setYanked(db, { targetId: id, version, yanked: true, reason });
      if (release === undefined) throw notFound(`The ${kind} has no such version.`);
      const facts = { version, reason };
      await audit(hub, request, principal, { action: "version.yank", subject: subjectOf(slug), facts });
      return releaseRecord(release);
    },
  });

  app.delete("/:slug/versions/:version/yank", {
    schema: {
      ...shared,
      summary: "Take a yank back",
      params: releaseParams,
      response: { 200: releaseSchema, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const { slug, version } = request.params;
      const { id, principal } = await access.controlled(request, slug, "publish");
      const release = await setYanked(db, { targetId: id, version, yanked: false, reason: null });
      if (release === undefined) throw notFound(`The ${kind} has no such version.`);
      await audit(hub, request, principal, { action: "version.unyank", subject: subjectOf(slug), facts: { version } });
      return releaseRecord(release);
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
      await describeTarget(db, id, request.body);
      const facts = { changed: Object.keys(request.body).join(" "), visibility: request.body.visibility ?? null };
      await audit(hub, request, principal, { action: "target.change", subject: subjectOf(slug), facts });
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
      const { limit, cursor } = request.query;
      return pageOf(await listGrants(db, id, { after: cursor, limit: limit + 1 }), limit, ({ owner }) => owner);
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
      const grant = await addGrant(db, id, request.body.owner, hub.now());
      const facts = { owner: grant.owner };
      await audit(hub, request, principal, { action: "grant.add", subject: subjectOf(slug), facts });
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
      if (!(await removeGrant(db, id, owner))) throw notFound("There is no such grant.");
      await audit(hub, request, principal, { action: "grant.remove", subject: subjectOf(slug), facts: { owner } });
      return reply.code(204).send(null);
    },
  });
};
