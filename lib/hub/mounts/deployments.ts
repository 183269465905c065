import type { FastifyRequest } from "fastify";
import { agentIn } from "../../contract/agent-version.ts";
import * as fleets from "../../contract/fleets/routes.ts";
import * as routes from "../../contract/reports/routes.ts";
import type { ReportRecord } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { countsFor, requireOwnHost } from "../access/own-host.ts";
import { serve, type Served, serveRaw } from "../access/serve.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import { noSuchTarget, targetAccess } from "../access/target-access.ts";
import { forbidden } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import { controlled } from "../base/rights.ts";
import { fleetAdoptions } from "../fleets/adoption.ts";
import { fleetNumbers } from "../fleets/fleet-numbers.ts";
import { hostDetail, noSuchHost, sendFleetView } from "../fleets/fleet-view.ts";
import { pageOf } from "../http/documentation.ts";
import { type CountedView, listViews } from "../records/fleet.ts";
import { claimedLabels } from "../records/host-headers.ts";
import { forgetHost } from "../records/host-rows.ts";
import type { PageRange } from "../records/port.ts";
import { storeTargetReport } from "../records/received-reports.ts";
import { listReports } from "../records/report-history.ts";
import type { ReportQueue } from "../records/report-queue.ts";
import { followedRootIn, hostOf } from "../records/sightings.ts";
import { fleetOf, targetOfSubject } from "../records/subjects.ts";
import { findVisibleTarget } from "../records/visible-targets.ts";

const instant = (text: string | undefined) => (text === undefined ? undefined : new Date(text).toISOString());

/**
 * Routes of deployment reports of plugins and services and of the fleet view, both limited to the owner of the calling
 * key.
 */
export function deployments(options: MountOptions<TargetAccessParts & { reports: ReportQueue }>): readonly Served[] {
  const { hub } = options;
  const { kysely: db, statements } = hub.database;
  const accesses = { plugin: targetAccess("plugin", options), service: targetAccess("service", options) };

  const numbers = fleetNumbers(statements);
  const adoptions = fleetAdoptions(statements);

  /** Returns the caller's own fleet of a target. */
  const askedFleet = (
    request: FastifyRequest<{ Params: { kind: MarketplaceKind; slug: string } }>,
    { owner }: Principal,
  ) => {
    const { kind, slug } = request.params;
    return {
      view: fleetOf({ kind, slug, owner }),
      now: hub.clock(),
      // Without reports, a target that the caller sees has an empty fleet; any other may be a mistyped slug.
      ifEmpty: async () => {
        const { target } = await findVisibleTarget(statements, accesses[kind].question(request, slug));
        if (target === undefined) throw noSuchTarget(kind);
      },
    };
  };

  return [
    serve(routes.reportTarget, async (request, principal) => {
      requireOwnHost(principal, request.body.host_id);
      const record = await storeTargetReport(hub.reports, request.body, principal.owner, {
        now: hub.clock(),
        named: hostOf(request.headers),
        labels: claimedLabels(request.headers),
        root: followedRootIn(request.headers),
        agent: agentIn(request.headers["user-agent"]),
        keyHost: principal.host,
      });
      return record;
    }),

    serveRaw(fleets.listTargetHosts, async (request, reply, principal) =>
      sendFleetView(request, reply, statements, request.query, askedFleet(request, principal)),
    ),

    serve(fleets.showTargetHost, async (request, principal) =>
      hostDetail<ReportRecord>(statements, askedFleet(request, principal), request.params.host_id),
    ),

    serve(fleets.countTargetFleet, async (request, principal) => {
      const { view, now, ifEmpty } = askedFleet(request, principal);
      const counts = await numbers.of(view, now);
      if (counts.hosts === 0) await ifEmpty();
      return countsFor(principal, counts);
    }),

    serve(fleets.showTargetAdoption, async (request, principal) => {
      const { view, now, ifEmpty } = askedFleet(request, principal);
      const adoption = await adoptions.of(view, now);
      if (adoption.days.every(({ versions, failing }) => versions.length + failing === 0)) await ifEmpty();
      return adoption;
    }),

    serve(fleets.forgetTargetHost, async (request, principal) => {
      const { kind, slug, host_id: host } = request.params;
      if (principal.projectId !== null) {
        const { target } = await findVisibleTarget(statements, accesses[kind].question(request, slug));
        if (target?.id !== principal.projectId) throw forbidden(`The key is not for this ${kind}.`);
      }
      await audited(hub, request, { principal, projectIds: [] }, async (transaction, tell, { caller: { owner } }) => {
        const view = fleetOf({ kind, slug, owner });
        if (!(await forgetHost(transaction, view, host))) throw noSuchHost();
        await tell({ action: "host.forget", subject: view.target, facts: { host_id: host } });
      });
    }),

    serve(fleets.listFleets, async (request, principal) => {
      const read = (range: PageRange) => listViews(db, principal.owner, controlled(principal), range);
      const show = (view: CountedView) => ({ ...view, target: targetOfSubject(view.target) });
      return pageOf(request.query, { by: "target", show }, read);
    }),

    serve(routes.listReports, async (request, principal) => {
      const { kind, slug } = request.params;
      const { host_id: hostId, status, version, from, to } = request.query;
      const view = fleetOf({ kind, slug, owner: principal.owner });
      const filters = { hostId, status, version, from: instant(from), to: instant(to) };
      const read = (range: PageRange) => listReports(db, view, filters, range);
      return pageOf(request.query, { by: "id", show: ({ record }) => JSON.parse(record) as ReportRecord }, read);
    }),
  ];
}
