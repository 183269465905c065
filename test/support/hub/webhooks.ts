import { webhooks } from "../../../lib/hub/features/webhooks/feature.ts";
import type { Hub, HubOptions } from "../../../lib/hub/hub.ts";
import { AT, type FeatureFill, HOSTILE } from "./filling.ts";

/** Returns the sender of a hub's webhooks. */
export const senderOf = (hub: Hub) => hub.part(webhooks).sender;

/** Options of a hub whose webhooks may lead to this machine, or to the places that are named. */
export const allowing = (...webhookAllow: string[]): Partial<HubOptions> => ({
  webhookAllow: webhookAllow.length === 0 ? ["127.0.0.0/8"] : webhookAllow,
});

/** Fills a webhook of the owner and one of a project, which both hear of a version. */
export const webhookFill: FeatureFill = {
  options: allowing(),
  byHand: {
    webhooks: { last_delivered_at: AT, failing_since: AT, last_error: HOSTILE, disabled_at: AT },
    webhook_deliveries: { last_error: HOSTILE },
  },
  async fill({ done, project }) {
    for (const more of [{}, { target: `project:${project.id}` }])
      await done("POST", "/devkeys/webhooks", { json: { url: "https://127.0.0.1:1/", name: HOSTILE, ...more } });
    const yank = `/devkeys/projects/${project.id}/versions/1.2.0/yank`;
    await done("POST", yank, { json: { reason: HOSTILE } });
    await done("DELETE", yank);
  },
  pages: () => ({ webhooks: "/webhooks" }),
  rights: () => ({ "/webhooks": "/devkeys/webhooks" }),
  async lists({ hub }) {
    const json = { name: "ops", url: "https://127.0.0.1:9443/", events: ["host.failed"] };
    await hub.call("POST", "/devkeys/webhooks", { json });
    return { "webhook deliveries": ["webhook deliveries ops", false], "webhook list": ["webhook list", true] };
  },
};
