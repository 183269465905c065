import type { HubFeature } from "../feature.ts";
import { removeQuota, requireRoom } from "./records.ts";
import { quotas as routes } from "./routes.ts";
import { quotas as quotaTable } from "./tables.ts";

/** Limits on what owners and projects store, set by an operator on the hub's machine. */
export const quotas: HubFeature = {
  name: "quotas",
  tables: [quotaTable],
  admit: requireRoom,
  async onDelete(transaction, { id }) {
    await removeQuota(transaction, `project/${id}`);
  },
  start: async () => ({ routes }),
};
