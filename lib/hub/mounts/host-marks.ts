import * as routes from "../../contract/fleets/routes.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { controlledBy } from "../access/project-access.ts";
import { serve, type Served } from "../access/serve.ts";
import { noSuchHost } from "../fleets/fleet-view.ts";
import { announceChange } from "../records/change-feed.ts";
import { labelHost, serveHost } from "../records/host-rows.ts";
import type { Records } from "../records/port.ts";
import { fleetOf, subjectOf } from "../records/subjects.ts";

/**
 * Routes with which an owner marks hosts of a fleet: labels, by which rollouts choose them, and out of service, where
 * none counts them (docs/contract/rollouts.md).
 */
export function hostMarks({ hub }: MountOptions<Records>): readonly Served[] {
  const projectOf = controlledBy(hub);
  return [
    serve(routes.labelHost, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { host_id: host } = request.params;
      const text = request.body.labels === null ? null : JSON.stringify(request.body.labels);
      const authority = { principal, projectIds: [project.id] } as const;
      await audited(hub, request, authority, async (transaction, tell, { targets: [target] }) => {
        if (!(await labelHost(transaction, fleetOf(target), host, text))) throw noSuchHost();
        // Another wave may be the host's now.
        await announceChange(transaction, hub.database.dialect, target.id);
        await tell({ action: "host.label", subject: subjectOf(target), facts: { host_id: host, labels: text } });
      });
    }),

    serve(routes.serveHost, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { host_id: host } = request.params;
      const { out_of_service: reason } = request.body;
      const authority = { principal, projectIds: [project.id] } as const;
      await audited(hub, request, authority, async (transaction, tell, { targets: [target] }) => {
        if (!(await serveHost(transaction, fleetOf(target), host, reason))) throw noSuchHost();
        const deed = { subject: subjectOf(target), facts: { host_id: host } };
        if (reason === null) await tell({ action: "host.back", ...deed });
        else await tell({ action: "host.out", ...deed, facts: { ...deed.facts, reason } });
      });
    }),
  ];
}
