import * as routes from "../../contract/hub/routes.ts";
import type { MountOptions } from "../access/authentication.ts";
import { serve, type Served } from "../access/serve.ts";
import type { Blobs } from "../blobs/port.ts";
import type { Records } from "../records/port.ts";

/** Route of facts about the running hub, for administrators. */
export const hubFacts = ({ hub }: MountOptions<Records & { blobs: Blobs }>): readonly Served[] => [
  serve(routes.showHub, async () => ({
    database: hub.database.dialect,
    blobs: hub.blobs.name,
    started_at: new Date(Date.now() - process.uptime() * 1000).toISOString(),
    resident_bytes: process.memoryUsage.rss(),
  })),
];
