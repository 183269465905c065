import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { errors, type MountOptions } from "../http/documentation.ts";
import { HubError } from "../http/errors.ts";

const tags = ["health"];
const ok = z.object({ status: z.literal("ok") });

/** `/healthz`: the process answers. `/readyz`: database and blob storage do as well. */
export const health: FastifyPluginAsyncZod<MountOptions> = async (app, { hub }) => {
  app.get("/healthz", {
    config: { rateLimit: false },
    schema: { tags, summary: "Whether the process answers", response: { 200: ok, ...errors() } },
    handler: async () => ({ status: "ok" as const }),
  });

  app.get("/readyz", {
    config: { rateLimit: false },
    schema: { tags, summary: "Whether the hub can serve requests", response: { 200: ok, ...errors() } },
    async handler() {
      try {
        await hub.database.check();
        await hub.blobs.check();
      } catch (error) {
        throw new HubError(503, "hub_unavailable", "The hub's storage does not answer.", { cause: error });
      }
      return { status: "ok" as const };
    },
  });
};
