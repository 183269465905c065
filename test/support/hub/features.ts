import type { HubOptions } from "../../../lib/hub/hub.ts";
import { componentFill } from "./components.ts";
import type { FeatureFill, Guarded, Listing, Lists } from "./filling.ts";
import { joiningFill } from "./joining.ts";
import { kitFill } from "./kits.ts";
import { publisherFill } from "./publishers.ts";
import { quotaFill } from "./quotas.ts";
import { rolloutFill } from "./rollouts.ts";
import { settingsFill } from "./settings.ts";
import { stagingFill } from "./staging.ts";
import { statementFill } from "./statements.ts";
import { trustFill } from "./trust.ts";
import { webhookFill } from "./webhooks.ts";

/** Additions of each feature to the hubs that tests fill, in the order in which they are made. */
export const FILLS: readonly FeatureFill[] = [
  statementFill,
  joiningFill,
  webhookFill,
  publisherFill,
  rolloutFill,
  quotaFill,
  stagingFill,
  componentFill,
  trustFill,
  settingsFill,
  kitFill,
];

/** Options of a hub whose features may ask this machine. */
export const localFeatures = (): Partial<HubOptions> =>
  FILLS.reduce<Partial<HubOptions>>((all, { options }) => ({ ...all, ...options }), {});

/** Lists of the features' commands, after something was put into them. */
export async function featureLists(at: Listing): Promise<Lists> {
  let all: Lists = {};
  for (const { lists } of FILLS) all = { ...all, ...(await lists?.(at)) };
  return all;
}

/** Paths of the features' pages, by name. */
export const featurePages = (projectId: string): Record<string, string> =>
  Object.fromEntries(FILLS.flatMap(({ pages }) => Object.entries(pages?.(projectId) ?? {})));

/** Paths of the features' pages, each with the path of the route that answers the same keys. */
export const featureRights = (at: Guarded): Record<string, string> =>
  Object.fromEntries(FILLS.flatMap(({ rights }) => Object.entries(rights?.(at) ?? {})));
