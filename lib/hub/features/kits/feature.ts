import type { HubFeature } from "../feature.ts";
import { changeHosts, forgetKits, hasHost } from "./records.ts";
import { kitRoutes } from "./routes.ts";
import { kitHosts, kits } from "./tables.ts";

/** Kits for hosts without network, and the reports that come back from them (docs/contract/kits.md). */
export const kitsFeature: HubFeature = {
  name: "kits",
  tables: [kits, kitHosts],
  async onAudit(db, { action, subject, facts }, now) {
    if (action === "host.rename") await changeHosts(db, subject, facts.from, { host_id: facts.to });
    if (action === "host.remove")
      await changeHosts(db, subject, facts.host_id, { removed_at: new Date(now).toISOString() });
  },
  // A host without network has mostly never joined, and may be stolen all the same.
  knowsHost: hasHost,
  // Hosts whose keys stay go on with their kits; what has come back already stays in the fleet.
  async onTransfer(transaction, { id, kind }, { keepKeys }) {
    if (!keepKeys && kind === "project") await forgetKits(transaction, id);
  },
  onDelete: (transaction, { id }) => forgetKits(transaction, id),
  start: () => Promise.resolve({ routes: kitRoutes }),
};
