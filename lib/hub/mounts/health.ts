import * as routes from "../../contract/health/routes.ts";
import { descriptors } from "../../support/descriptors.ts";
import { serve, type Served } from "../access/serve.ts";
import { HubError } from "../base/errors.ts";
import type { Connections } from "../http/connections.ts";
import type { ReadinessCheck } from "../storage/readiness.ts";
import type { Upkeep } from "../upkeep/upkeep.ts";

interface HealthOptions {
  connections: Connections;
  upkeep: Upkeep;
  readiness: ReadinessCheck;
}

/**
 * Routes of health. `/healthz`: the process answers. `/readyz`: the database can be read; `?verbose` reports each part.
 * A hub that cannot write stays ready, and answers writes with 503 or 507.
 */
export function health({ connections, upkeep, readiness }: HealthOptions): readonly Served[] {
  return [
    serve(routes.showLiveness, async () => ({ status: "ok" as const })),

    serve(routes.showReadiness, async (request) => {
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
    }),
  ];
}
