import type { HubFeature } from "./features/feature.ts";
import { quotas } from "./features/quotas/feature.ts";
import { webhooks } from "./features/webhooks/feature.ts";
import type { HubOptions } from "./options.ts";

/** The features of the hub. Their hooks run, and their routes are listed, in this order. */
export const FEATURES: readonly HubFeature<HubOptions>[] = [webhooks, quotas];
