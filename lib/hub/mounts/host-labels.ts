import * as routes from "../../contract/fleets/routes.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { controlledBy } from "../access/project-access.ts";
import { serve, type Served } from "../access/serve.ts";
import { noSuchHost } from "../fleets/fleet-view.ts";
import { announceChange } from "../records/change-feed.ts";
import { labelHost } from "../records/host-rows.ts";
import type { Records } from "../records/port.ts";
import { fleetOf, subjectOf } from "../records/subjects.ts";

/** Route with which an owner labels hosts of a fleet, for rollouts to choose them by (docs/contract/rollouts.md). */
export function hostLabels({ hub }: MountOptions<Records>): readonly Served[] {
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
  ];
}
