import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { descriptors } from "../../support/descriptors.ts";
import { HubError } from "../ground/errors.ts";
import type { Connections } from "../http/connections.ts";
import { errors } from "../http/documentation.ts";
import type { Part, ReadinessCheck } from "../storage/readiness.ts";
import type { Upkeep } from "../upkeep/upkeep.ts";

const tags = ["health"];
const live = z.object({ status: z.literal("ok") });

const part = z.object({
  ok: z.boolean(),
  duration_ms: z.int(),
  trouble: z.enum(["away", "full", "read-only", "refused", "failed"]).optional(),
});
/** The room that is left for clients, as `?verbose` tells it. */
const room = {
  connections: z
    .object({
      open: z.int(),
      vouched: z.int().describe("Those that have shown a valid key"),
      most: z.int().optional().describe("The bound; absent where the system sets none"),
      shed: z.int().describe("Connections that were closed since the start because all were taken"),
    })
    .optional(),
  descriptors: z.object({ open: z.int(), limit: z.int() }).optional().describe("Files and sockets of the process"),
};
const ready = z.object({
  status: z.enum(["ok", "degraded", "unavailable"]),
  parts: z
    .object({ database_read: part, database_write: part, blobs: part } satisfies Record<Part, z.ZodType>)
    .optional(),
  ...room,
  lost_blobs: z.int().optional().describe("Published versions whose bytes the last sweep did not find"),
  unexplained_blobs: z.int().optional().describe("Blobs without a record, too many to be what crashes left"),
});

interface HealthOptions {
  connections: Connections;
  upkeep: Upkeep;
  readiness: ReadinessCheck;
}

/**
 * `/healthz`: the process answers. `/readyz`: the database can be read; `?verbose` tells each part. A hub that cannot
 * write stays ready, and refuses what it cannot do with 503 or 507.
 */
export const health: FastifyPluginAsyncZod<HealthOptions> = async (app, { connections, upkeep, readiness }) => {
  app.get("/healthz", {
    config: { rateLimit: false, patienceMs: Infinity },
    schema: { tags, summary: "Whether the process answers", response: { 200: live, ...errors() } },
    handler: async () => ({ status: "ok" as const }),
  });

  app.get("/readyz", {
    config: { rateLimit: false, patienceMs: Infinity },
    schema: {
      tags,
      summary: "Whether the hub can serve requests; ?verbose tells of its storage and its connections",
      querystring: z.object({ verbose: z.string().optional() }),
      response: { 200: ready, ...errors() },
    },
    async handler(request) {
      const { ready: isReady, status, parts } = await readiness.now();
      const { lost, unexplained } = upkeep.lastSweep ?? { lost: [], unexplained: 0 };
      const open = await descriptors();
      const details =
        request.query.verbose === undefined
          ? {}
          : {
              parts,
              connections: connections.numbers,
              ...(Number.isFinite(open?.limit) && { descriptors: open }),
              lost_blobs: lost.length,
              unexplained_blobs: unexplained,
            };
      if (isReady) return { status, ...details };
      throw new HubError(503, "hub_unavailable", "The hub's database does not answer.", {
        fields: details,
        headers: { "retry-after": "2" },
      });
    },
  });
};
