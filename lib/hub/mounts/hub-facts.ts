import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { hubFacts as schema } from "../../contract/surfaces/keys.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { Blobs } from "../blobs/port.ts";
import { forbidden } from "../ground/errors.ts";
import { isAdministrator } from "../ground/principal.ts";
import { errors, security } from "../http/documentation.ts";
import type { Records } from "../records/port.ts";

/** Facts of the hub that runs, for administrators. */
export const hubFacts: FastifyPluginAsyncZod<MountOptions<Records & { blobs: Blobs }>> = async (
  app,
  { hub, authentication },
) => {
  app.get("/hub", {
    schema: {
      tags: ["key service"],
      summary: "The hub's database and storage, its start and its memory",
      security: security.key,
      response: { 200: schema, ...errors(401, 403) },
    },
    async handler(request) {
      if (!isAdministrator(await authentication.key(request)))
        throw forbidden("Only an administrator reads the facts of the hub.");
      return {
        database: hub.database.dialect,
        blobs: hub.blobs.name,
        started_at: new Date(Date.now() - process.uptime() * 1000).toISOString(),
        resident_bytes: process.memoryUsage.rss(),
      };
    },
  });
};
