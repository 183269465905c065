import { webhooks } from "../../../lib/hub/features/webhooks/feature.ts";
import type { Hub } from "../../../lib/hub/hub.ts";

/** Returns the sender of a hub's webhooks. */
export const senderOf = (hub: Hub) => hub.part(webhooks).sender;
