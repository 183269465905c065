import { components } from "./features/components/feature.ts";
import type { WebFeature } from "./features/feature.ts";
import { joining } from "./features/joining/feature.ts";
import { kits } from "./features/kits/feature.ts";
import { publishers } from "./features/publishers/feature.ts";
import { quotas } from "./features/quotas/feature.ts";
import { rollouts } from "./features/rollouts/feature.ts";
import { staging } from "./features/staging/feature.ts";
import { statements } from "./features/statements/feature.ts";
import { trust } from "./features/trust/feature.ts";
import { webhooks } from "./features/webhooks/feature.ts";

/** Features of the pages, in display order. */
export const webFeatures: readonly WebFeature[] = [
  rollouts,
  components,
  joining,
  kits,
  staging,
  statements,
  trust,
  publishers,
  webhooks,
  quotas,
];
