import type { HubFeature } from "../feature.ts";
import { Clones } from "./clones.ts";
import { forgetProject, namesakeOf, noteByHand } from "./host-records.ts";
import { removeOldInvites, revokeInvites } from "./invite-records.ts";
import { taken } from "./join.ts";
import { joiningRoutes } from "./routes.ts";
import { hostInvites, joinedHosts } from "./tables.ts";

/** Hosts that join a project by themselves with an invite, and the list of hosts that have keys of their own. */
export const joining: HubFeature = {
  name: "joining",
  tables: [hostInvites, joinedHosts],
  async onAudit(db, { action, facts }, now) {
    const { project_id: project, host } = facts;
    const isProject = typeof project === "string" && project.startsWith("prj_");
    if (action === "key.create" && isProject && typeof host === "string") {
      const named = { project_id: project, host_id: host };
      const other = await namesakeOf(db, named, host);
      if (other !== undefined) throw taken(other);
      await noteByHand(db, named, new Date(now).toISOString());
    }
  },
  // The invites were made by the former owner.
  async onTransfer(transaction, { id: project_id }, { now }) {
    await revokeInvites(transaction, { project_id }, now);
  },
  onDelete: (transaction, { id }) => forgetProject(transaction, id),
  async start({ database, clock }) {
    const clones = new Clones(database.kysely, clock);
    return {
      routes: joiningRoutes,
      chores: {
        "old invites": () => removeOldInvites(database.kysely, clock()),
        "clones of hosts": () => clones.write(),
      },
      hearHost: (request, principal) => clones.note(request, principal),
      [Symbol.asyncDispose]: () => clones[Symbol.asyncDispose](),
    };
  },
};
