import { hostTaken } from "../../base/errors.ts";
import { namesakeOf } from "../../records/host-names.ts";
import type { HubFeature } from "../feature.ts";
import { Clones } from "./clones.ts";
import { forgetProject, joinedCalled, noteByHand } from "./host-records.ts";
import { removeOldInvites, revokeInvites } from "./invite-records.ts";
import { joiningRoutes } from "./routes.ts";
import { hostInvites, joinedHosts } from "./tables.ts";

/** Hosts that join a project by themselves with an invite, and the list of hosts that have keys of their own. */
export const joining: HubFeature = {
  name: "joining",
  tables: [hostInvites, joinedHosts],
  async onAudit(db, { action, facts }, now) {
    if (action !== "key.create") return;
    const { project_id, host: host_id } = facts;
    if (host_id === undefined || project_id?.startsWith("prj_") !== true) return;
    const other = await namesakeOf(db, project_id, [host_id]);
    if (other !== undefined) throw hostTaken(other);
    await noteByHand(db, { project_id, host_id }, new Date(now).toISOString());
  },
  hostsCalled: joinedCalled,
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
