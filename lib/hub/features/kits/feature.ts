import { inTransaction } from "../../records/port.ts";
import type { HubFeature } from "../feature.ts";
import { forgetRemovedKeys, hostsCalled, leaveHosts, removeHost, renameKitHost } from "./host-records.ts";
import { forgetKits, removeOldKits } from "./records.ts";
import { kitRoutes } from "./routes.ts";
import { kitHosts, kitReports, kits, removedKeys } from "./tables.ts";
import { noteTaken } from "./taken-records.ts";

/** Kits for hosts without network, and the reports that come back from them (docs/contract/kits.md). */
export const kitsFeature: HubFeature = {
  name: "kits",
  tables: [kits, kitHosts, removedKeys, kitReports],
  async onAudit(db, { action, subject: projectId, facts }, now) {
    if (action === "host.rename")
      await inTransaction(db, (changes) => renameKitHost(changes, { projectId, hostId: facts.from }, facts.to));
    if (action === "host.remove") {
      const at = new Date(now).toISOString();
      await inTransaction(db, (changes) => removeHost(changes, { projectId, hostId: facts.host_id }, at));
    }
  },
  // A host without network has mostly never joined, and may be stolen all the same.
  hostsCalled: hostsCalled,
  onReports: noteTaken,
  // Hosts whose keys stay go on with their kits; what has come back already stays in the fleet.
  async onTransfer(transaction, { id, kind }, { keepKeys, now }) {
    if (kind !== "project") return;
    if (!keepKeys) await forgetKits(transaction, id);
    await leaveHosts(transaction, id, keepKeys ? undefined : now);
  },
  async onDelete(transaction, { id }, now) {
    await forgetKits(transaction, id);
    await leaveHosts(transaction, id, now);
    await forgetRemovedKeys(transaction, id);
  },
  start: ({ database, clock }) =>
    Promise.resolve({
      routes: kitRoutes,
      chores: { "old kits": () => removeOldKits(database.kysely, clock()) },
    }),
};
