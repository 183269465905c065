import { components } from "./features/components/feature.ts";
import type { HubFeature } from "./features/feature.ts";
import { type HintOptions, hints } from "./features/hints/feature.ts";
import { importing, type ImportOptions } from "./features/import/feature.ts";
import { joining } from "./features/joining/feature.ts";
import { kitsFeature } from "./features/kits/feature.ts";
import { pastFailures } from "./features/past-failures/feature.ts";
import { type PublisherOptions, publishers } from "./features/publishers/feature.ts";
import { quotas } from "./features/quotas/feature.ts";
import { rollouts } from "./features/rollouts/feature.ts";
import { settings } from "./features/settings/feature.ts";
import { type SignInOptions, signOn } from "./features/sign-on/feature.ts";
import { staging, type StagingOptions } from "./features/staging/feature.ts";
import { statements } from "./features/statements/feature.ts";
import { trust } from "./features/trust/feature.ts";
import { type WebhookOptions, webhooks } from "./features/webhooks/feature.ts";

/** Options of the hub's features. */
export interface FeatureOptions
  extends WebhookOptions, HintOptions, SignInOptions, ImportOptions, PublisherOptions, StagingOptions {}

/** Features of the hub. Their hooks run, and their routes are listed, in this order. */
export const FEATURES: readonly HubFeature<FeatureOptions>[] = [
  rollouts,
  pastFailures,
  webhooks,
  quotas,
  hints,
  signOn,
  importing,
  joining,
  publishers,
  statements,
  components,
  staging,
  trust,
  // Before settings, which forget the card of a host that is removed.
  kitsFeature,
  settings,
];
