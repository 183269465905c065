import * as z from "zod";
import { timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import type { Route } from "../route.ts";
import { marketplaceKind, reportRecord } from "../surfaces/marketplace.ts";
import { deploymentReport, deploymentStatus, reportedLog } from "../surfaces/reports.ts";

const shared = { mount: "deployments", tags: ["deployments"] } as const;

export const reportTarget = {
  ...shared,
  method: "POST",
  path: "/deployments/report",
  who: { key: ["report"] },
  otherHosts: "none",
  load: "begun",
  summary: "Report a deployment of a plugin or service",
  description: "Owning or seeing the target is not required: a host may report what it still runs.",
  body: deploymentReport,
  ok: { 201: reportRecord },
} as const satisfies Route;

export const listReports = {
  otherHosts: "named",
  ...shared,
  method: "GET",
  path: "/deployments/:kind/:slug/reports",
  who: { key: ["read"] },
  summary: "The own reports of a plugin or service, newest first",
  params: later(() => z.object({ kind: marketplaceKind, slug: z.string() })),
  filters: true,
  query: later(() =>
    pageQuery.extend({
      host_id: z.string().max(255).optional(),
      status: deploymentStatus.optional(),
      version: z.string().max(128).optional(),
      from: timestamp.optional().describe("Reports received at this time or later"),
      to: timestamp.optional().describe("Reports received before this time"),
    }),
  ),
  ok: { 200: later(() => page(reportRecord.extend({ log: reportedLog }))) },
} as const satisfies Route;
