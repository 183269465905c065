import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { timestamp } from "../../contract/identifiers.ts";
import { page } from "../../contract/surfaces/keys.ts";
import { marketplaceKind, type ReportRecord, reportRecord } from "../../contract/surfaces/marketplace.ts";
import { deploymentReport, deploymentStatus } from "../../contract/surfaces/reports.ts";
import { requireScope } from "../access/principal.ts";
import { noSuchTarget, targetAccess } from "../access/target-access.ts";
import { errors, type MountOptions, notModified, pageOf, pageQuery, security } from "../http/documentation.ts";
import { fleetQuery, sendFleetView } from "../http/fleet-view.ts";
import { PATIENCE_OF_BEGUN_MS } from "../http/load-shedding.ts";
import { listReports } from "../records/report-history.ts";
import { loggedTarget, storeTargetReport } from "../records/reports.ts";
import { findVisibleTarget } from "../records/visible-targets.ts";

const tags = ["deployments"];
const params = z.object({ kind: marketplaceKind, slug: z.string() });

const historyQuery = pageQuery.extend({
  host_id: z.string().max(255).optional(),
  status: deploymentStatus.optional(),
  version: z.string().max(128).optional(),
  from: timestamp.optional().describe("Reports received at this time or later"),
  to: timestamp.optional().describe("Reports received before this time"),
});

const instant = (text: string | undefined) => (text === undefined ? undefined : new Date(text).toISOString());

/** Deployment reports of plugins and services, and the fleet view, both scoped to the owner of the calling key. */
export const deployments: FastifyPluginAsyncZod<MountOptions> = async (app, options) => {
  const { hub, authentication } = options;
  const { kysely: db, statements } = hub.database;
  const accesses = { plugin: targetAccess("plugin", options), service: targetAccess("service", options) };

  app.post("/deployments/report", {
    config: { patienceMs: PATIENCE_OF_BEGUN_MS },
    schema: {
      tags,
      summary: "Report a deployment of a plugin or service",
      description: "Owning or seeing the target is not required: a host may report what it still runs.",
      security: security.key,
      body: deploymentReport,
      response: { 201: reportRecord, ...errors(400, 401, 403, 415, 422) },
    },
    async handler(request, reply) {
      const principal = await authentication.key(request);
      requireScope(principal, "report");
      const record = await storeTargetReport(hub.reports, request.body, principal.owner, hub.clock());
      return reply.code(201).send(record);
    },
  });

  app.route({
    method: ["GET", "HEAD"],
    url: "/deployments/:kind/:slug/hosts",
    schema: {
      tags,
      summary: "Which version runs where: each host's newest record, keyed by host id",
      description: "Streamed in host-id order. X-Cursor in the answer is the value for the next `since`.",
      security: security.key,
      params,
      querystring: fleetQuery,
      response: { 200: z.record(z.string(), reportRecord), 304: notModified, ...errors(401, 403, 404, 422) },
    },
    async handler(request, reply) {
      const principal = await authentication.key(request);
      requireScope(principal, "read");
      const { kind, slug } = request.params;
      const view = { holder: principal.owner, target: loggedTarget(kind, slug) };
      return sendFleetView(request, reply, statements, view, {
        since: request.query.since,
        // A target that nobody reported on is an empty fleet where it can be seen, and a mistyped slug elsewhere.
        ifEmpty: async () => {
          const { target } = await findVisibleTarget(statements, accesses[kind].question(request, slug));
          if (target === undefined) throw noSuchTarget(kind);
        },
      });
    },
  });

  app.get("/deployments/:kind/:slug/reports", {
    schema: {
      tags,
      summary: "The own reports of a plugin or service, newest first",
      security: security.key,
      params,
      querystring: historyQuery,
      response: { 200: page(reportRecord), ...errors(401, 403, 422) },
    },
    async handler(request) {
      const principal = await authentication.key(request);
      requireScope(principal, "read");
      const { kind, slug } = request.params;
      const { limit, cursor, host_id: hostId, status, version, from, to } = request.query;
      const reports = await listReports(
        db,
        { holder: principal.owner, target: loggedTarget(kind, slug) },
        { hostId, status, version, from: instant(from), to: instant(to) },
        { before: cursor, limit: limit + 1 },
      );
      const { items, next } = pageOf(reports, limit, ({ id }) => id);
      return { items: items.map(({ record }) => JSON.parse(record) as ReportRecord), next };
    },
  });
};
