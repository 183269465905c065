import { BY_HUB, insertAudit } from "../../records/audit.ts";
import { subjectOf } from "../../records/subjects.ts";
import type { HubFeature } from "../feature.ts";
import { clearRoot } from "./records.ts";
import { trustRoutes } from "./routes.ts";
import { trustRoots } from "./tables.ts";

/** Trust roots: owners publish which signers hosts follow, and hosts read them. */
export const trust: HubFeature = {
  name: "trust",
  tables: [trustRoots],
  onTarget: (transaction, target, now) => ({
    // The root is the former owner's.
    async hear({ what }) {
      const { id, root_id, root_version } = target;
      if (what !== "transfer" || root_id === null || root_version === null) return false;
      await clearRoot(transaction, id);
      const facts = { root_id, root_version };
      await insertAudit(transaction, { action: "trust.leave", ...BY_HUB, subject: subjectOf(target), facts }, now);
      return false;
    },
    settle: () => Promise.resolve(undefined),
  }),
  start: () => Promise.resolve({ routes: trustRoutes }),
};
