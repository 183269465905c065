import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { page, type QuotaRecord, quotaRecord } from "../../contract/surfaces/keys.ts";
import type { MountOptions } from "../access/authentication.ts";
import { isAdministrator } from "../ground/principal.ts";
import { errors, pageOf, pageQuery, security } from "../http/documentation.ts";
import type { Records } from "../records/port.ts";
import { listQuotas, type QuotaSubject, usageOf } from "../records/quotas.ts";

/** Quotas with what is used of them. They are set on the machine of the hub. */
export const quotas: FastifyPluginAsyncZod<MountOptions<Records>> = async (app, { hub, authentication }) => {
  app.get("/quotas", {
    schema: {
      tags: ["key service"],
      summary: "What the key's owner or project stores and may store; an administrator gets every quota, too",
      security: security.key,
      querystring: pageQuery,
      response: { 200: page(quotaRecord), ...errors(401, 422) },
    },
    async handler(request) {
      const principal = await authentication.key(request);
      const db = hub.database.kysely;
      const { owner, projectId } = principal;
      const own: QuotaSubject = projectId === null ? `owner/${owner}` : `project/${projectId}`;
      const limits = new Map((await listQuotas(db)).map((quota) => [quota.subject, quota]));
      const subjects = isAdministrator(principal) ? new Set([own, ...limits.keys()]) : new Set([own]);
      return pageOf(request.query, { by: "subject" }, async ({ after, limit }) => {
        const shown: QuotaRecord[] = [];
        // One after the other: each sums up everything of its subject.
        for (const subject of [...subjects]
          .filter((each) => each > after)
          .toSorted()
          .slice(0, limit)) {
          const { max_bytes = null, max_versions = null } = limits.get(subject) ?? {};
          shown.push({ subject, max_bytes, max_versions, usage: await usageOf(db, subject) });
        }
        return shown;
      });
    },
  });
};
