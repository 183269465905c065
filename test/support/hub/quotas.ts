import { FEATURES } from "../../../lib/hub/features.ts";
import { setQuota } from "../../../lib/hub/features/quotas/by-hand.ts";
import type { FeatureFill } from "./filling.ts";

/** Fills the quota of a project. */
export const quotaFill: FeatureFill = {
  async fill({ hub: { dataDir }, project }) {
    const quota = { subject: `project/${project.id}` as const, max_bytes: 1e9, max_versions: 100 };
    await setQuota({ hooks: FEATURES, dataDir }, quota);
  },
  pages: () => ({ quotas: "/quotas" }),
  rights: () => ({ "/quotas": "/devkeys/quotas" }),
  lists: ({ hub: { dataDir } }) => ({ "hub quota list": [`hub quota list --data-dir ${dataDir}`, false] }),
};
