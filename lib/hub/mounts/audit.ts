import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { timestamp } from "../../contract/identifiers.ts";
import { auditRecord, page } from "../../contract/surfaces/keys.ts";
import type { MountOptions } from "../access/authentication.ts";
import { forbidden } from "../ground/errors.ts";
import { isAdministrator } from "../ground/principal.ts";
import { errors, pageOf, pageQuery, security } from "../http/documentation.ts";
import { listAudit } from "../records/audit.ts";
import type { Records } from "../records/port.ts";

const query = pageQuery.extend({
  since: timestamp.optional(),
  until: timestamp.optional(),
  action: z.string().max(64).optional(),
  actor: z.string().max(255).optional(),
});

const instant = (text: string | undefined) => (text === undefined ? undefined : new Date(text).toISOString());

/** The audit log, for administrators. */
export const auditLog: FastifyPluginAsyncZod<MountOptions<Records>> = async (app, { hub, authentication }) => {
  app.get("/audit", {
    schema: {
      tags: ["key service"],
      summary: "Who did what to which key, project, version, grant and secret, newest first",
      security: security.key,
      querystring: query,
      response: { 200: page(auditRecord), ...errors(401, 403, 422) },
    },
    async handler(request) {
      const principal = await authentication.key(request);
      if (!isAdministrator(principal)) throw forbidden("Only an administrator reads the audit log.");
      const { since, until, action, actor } = request.query;
      const filters = { since: instant(since), until: instant(until), action, actor };
      return pageOf(request.query, { by: "id" }, (range) => listAudit(hub.database.kysely, filters, range));
    },
  });
};
