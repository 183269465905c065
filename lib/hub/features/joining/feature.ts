import { revokeInvites } from "../../records/host-invites.ts";
import { noteByHand } from "../../records/joined-hosts.ts";
import { deleteWhere } from "../../records/rows.ts";
import type { HubFeature } from "../feature.ts";
import { joiningRoutes } from "./routes.ts";

/** Hosts that join a project by themselves, with an invite, and the list of those whose keys speak for them alone. */
export const joining: HubFeature = {
  name: "joining",
  async onDeed(db, { action, subject, facts }, now) {
    const at = new Date(now).toISOString();
    const { project_id: project, host } = facts;
    const isProject = typeof project === "string" && project.startsWith("prj_");
    if (action === "key.create" && isProject && typeof host === "string")
      await noteByHand(db, { project_id: project, host_id: host }, at);
    // The new owner has invited nobody.
    if (action === "project.transfer") await revokeInvites(db, { project_id: subject }, at);
  },
  async onDelete(transaction, { id: project_id }) {
    for (const table of ["joined_hosts", "host_invites"] as const)
      await deleteWhere(transaction, table, { project_id }).execute();
  },
  start: () => Promise.resolve({ routes: joiningRoutes }),
};
