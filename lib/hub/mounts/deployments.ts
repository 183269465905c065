import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { timestamp } from "../../contract/identifiers.ts";
import { page, pageQuery } from "../../contract/paging.ts";
import { noContent, notModified } from "../../contract/route.ts";
import { FLEET_ROUTE, fleetQuery } from "../../contract/surfaces/fleet.ts";
import { marketplaceKind, type ReportRecord, reportRecord } from "../../contract/surfaces/marketplace.ts";
import {
  deploymentReport,
  deploymentStatus,
  fleetCounts,
  fleetSummary,
  hostState,
  hostStateField,
  seenAtField,
  stepOutcome,
} from "../../contract/surfaces/reports.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { requireOwnHost } from "../access/own-host.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import { noSuchTarget, targetAccess } from "../access/target-access.ts";
import { FleetNumbers } from "../fleets/fleet-numbers.ts";
import { hostDetail, noSuchHost, sendFleetView } from "../fleets/fleet-view.ts";
import { forbidden } from "../ground/errors.ts";
import { type Principal, requireScope } from "../ground/principal.ts";
import { controlled } from "../ground/rights.ts";
import { errors, pageOf, security } from "../http/documentation.ts";
import { PATIENCE_OF_BEGUN_MS } from "../http/load-shedding.ts";
import { type CountedView, listViews } from "../records/fleet.ts";
import { forgetHost } from "../records/host-rows.ts";
import type { PageRange } from "../records/port.ts";
import { listReports } from "../records/report-history.ts";
import type { ReportQueue } from "../records/report-queue.ts";
import { loggedTarget, storeTargetReport } from "../records/reports.ts";
import { hostOf } from "../records/sightings.ts";
import { findVisibleTarget } from "../records/visible-targets.ts";

const tags = ["deployments"];
const params = z.object({ kind: marketplaceKind, slug: z.string() });
const hostParams = params.extend({ host_id: z.string().max(255) });

const historyQuery = pageQuery.extend({
  host_id: z.string().max(255).optional(),
  status: deploymentStatus.optional(),
  version: z.string().max(128).optional(),
  from: timestamp.optional().describe("Reports received at this time or later"),
  to: timestamp.optional().describe("Reports received before this time"),
});

const instant = (text: string | undefined) => (text === undefined ? undefined : new Date(text).toISOString());

/** Deployment reports of plugins and services, and the fleet view, both scoped to the owner of the calling key. */
export const deployments: FastifyPluginAsyncZod<MountOptions<TargetAccessParts & { reports: ReportQueue }>> = async (
  app,
  options,
) => {
  const { hub, authentication } = options;
  const { kysely: db, statements } = hub.database;
  const accesses = { plugin: targetAccess("plugin", options), service: targetAccess("service", options) };

  const numbers = new FleetNumbers(statements);

  /** The fleet of a target that the caller's owner has. */
  const askedFleet = (request: FastifyRequest<{ Params: z.output<typeof params> }>, { owner: holder }: Principal) => {
    const { kind, slug } = request.params;
    return {
      view: { holder, target: loggedTarget(kind, slug) },
      now: hub.clock(),
      // A target that nobody reported on is an empty fleet where it can be seen, and a mistyped slug elsewhere.
      ifEmpty: async () => {
        const { target } = await findVisibleTarget(statements, accesses[kind].question(request, slug));
        if (target === undefined) throw noSuchTarget(kind);
      },
    };
  };

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
      requireOwnHost(principal, request.body.host_id);
      const record = await storeTargetReport(hub.reports, request.body, principal.owner, {
        now: hub.clock(),
        named: hostOf(request.headers),
      });
      return reply.code(201).send(record);
    },
  });

  app.route({
    method: ["GET", "HEAD"],
    url: "/deployments/:kind/:slug/hosts",
    schema: {
      tags,
      summary: "Which version runs where: each host's newest record, keyed by host id",
      description: FLEET_ROUTE,
      security: security.key,
      params,
      querystring: fleetQuery,
      response: {
        200: z.record(z.string(), reportRecord.extend({ seen_at: seenAtField, state: hostStateField })),
        304: notModified,
        ...errors(401, 403, 404, 422),
      },
    },
    async handler(request, reply) {
      const principal = await authentication.key(request);
      requireScope(principal, "read");
      return sendFleetView(request, reply, statements, request.query, askedFleet(request, principal));
    },
  });

  app.get("/deployments/:kind/:slug/hosts/:host_id", {
    schema: {
      tags,
      summary: "One host: its newest record, with its state and the steps of its last report",
      security: security.key,
      params: hostParams,
      response: {
        200: reportRecord.extend({ seen_at: seenAtField, state: hostState, steps: z.array(stepOutcome) }),
        ...errors(401, 403, 404, 422),
      },
    },
    async handler(request, reply) {
      const principal = await authentication.key(request);
      requireScope(principal, "read");
      const detail = await hostDetail(statements, askedFleet(request, principal), request.params.host_id);
      return reply.send(detail as never);
    },
  });

  app.get("/deployments/:kind/:slug/fleet", {
    schema: {
      tags,
      summary: "The fleet in numbers: its hosts by state and by version, and their labels",
      security: security.key,
      params,
      response: { 200: fleetCounts, ...errors(401, 403, 404, 422) },
    },
    async handler(request) {
      const principal = await authentication.key(request);
      requireScope(principal, "read");
      const { view, now, ifEmpty } = askedFleet(request, principal);
      const counts = await numbers.count(view, now);
      if (counts.hosts === 0) await ifEmpty();
      return counts;
    },
  });

  app.delete("/deployments/:kind/:slug/hosts/:host_id", {
    schema: {
      tags,
      summary: "Forget a host of the own fleet, until it reports again",
      security: security.key,
      params: hostParams,
      response: { 204: noContent, ...errors(401, 403, 404, 422) },
    },
    async handler(request, reply) {
      const principal = await authentication.key(request);
      requireScope(principal, "projects");
      const { kind, slug, host_id: host } = request.params;
      if (principal.projectId !== null) {
        const { target } = await findVisibleTarget(statements, accesses[kind].question(request, slug));
        if (target?.id !== principal.projectId) throw forbidden(`The key is not for this ${kind}.`);
      }
      const target = loggedTarget(kind, slug);
      await audited(hub, request, principal, async (transaction, tell) => {
        if (!(await forgetHost(transaction, { holder: principal.owner, target }, host))) throw noSuchHost();
        await tell({ action: "host.forget", subject: target, facts: { host_id: host } });
      });
      return reply.code(204).send(null);
    },
  });

  app.get("/deployments/fleets", {
    schema: {
      tags,
      summary: "The fleets that the key may see: of its owner's reports, and of the projects that it controls",
      security: security.key,
      querystring: pageQuery,
      response: { 200: page(fleetSummary), ...errors(401, 403, 422) },
    },
    async handler(request) {
      const principal = await authentication.key(request);
      requireScope(principal, "read");
      const read = (range: PageRange) => listViews(db, principal.owner, controlled(principal), range);
      const named = (target: string): string => (target.includes("/") ? target.replace("/", ":") : `project:${target}`);
      const show = (view: CountedView) => ({ ...view, target: named(view.target) });
      return pageOf(request.query, { by: "target", show }, read);
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
      const { host_id: hostId, status, version, from, to } = request.query;
      const view = { holder: principal.owner, target: loggedTarget(kind, slug) };
      const filters = { hostId, status, version, from: instant(from), to: instant(to) };
      const read = (range: PageRange) => listReports(db, view, filters, range);
      return pageOf(request.query, { by: "id", show: ({ record }) => JSON.parse(record) as ReportRecord }, read);
    },
  });
};
