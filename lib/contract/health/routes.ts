import * as z from "zod";
import { later } from "../later.ts";
import type { Route } from "../route.ts";

const shared = { mount: "root", method: "GET", who: { everyone: true }, load: "always", tags: ["health"] } as const;

const part = later(() =>
  z.object({
    ok: z.boolean(),
    duration_ms: z.int(),
    trouble: z.enum(["away", "full", "read-only", "refused", "failed"]).optional(),
  }),
);
/** Room left for clients, as reported by `?verbose`. */
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
const readiness = later(() =>
  z.object({
    status: z.enum(["ok", "degraded", "unavailable"]),
    parts: z.object({ database_read: part, database_write: part, blobs: part }).optional(),
    ...room,
    lost_blobs: z.int().optional().describe("Published versions whose bytes the last sweep did not find"),
    unexplained_blobs: z.int().optional().describe("Blobs without a record, too many to be what crashes left"),
  }),
);

export const showLiveness = {
  ...shared,
  path: "/healthz",
  otherHosts: "none",
  summary: "Whether the process answers",
  ok: { 200: later(() => z.object({ status: z.literal("ok") })) },
} as const satisfies Route;

export const showReadiness = {
  ...shared,
  path: "/readyz",
  otherHosts: "none",
  summary: "Whether the hub can serve requests; ?verbose tells of its storage and its connections",
  query: later(() => z.object({ verbose: z.string().optional() })),
  ok: { 200: readiness },
} as const satisfies Route;
