import { quotas as routes } from "../../mounts/quotas.ts";
import { removeQuota, requireRoom } from "../../records/quotas.ts";
import type { HubFeature } from "../feature.ts";

/** Limits of what owners and projects store; an operator sets them on the hub's machine. */
export const quotas: HubFeature = {
  name: "quotas",
  admit: requireRoom,
  async onDelete(transaction, { id }) {
    await removeQuota(transaction, `project/${id}`);
  },
  start: async () => ({ routes }),
};
