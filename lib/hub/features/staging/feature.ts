import { setHubRule } from "../../records/approval-rules.ts";
import { inTransaction } from "../../records/port.ts";
import type { HubFeature } from "../feature.ts";
import { staging as routes } from "./routes.ts";

export interface StagingOptions {
  /** Whether new versions of every target require approval, until an administrator lifts that. Default: false. */
  requireApproval?: boolean;
}

/** Staging: versions that are published once another person approves them. */
export const staging: HubFeature<StagingOptions> = {
  name: "staging",
  async start({ database }, { requireApproval = false }) {
    await inTransaction(database.kysely, (transaction) => setHubRule(transaction, requireApproval));
    return { routes };
  },
};
