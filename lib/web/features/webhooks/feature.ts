import { may } from "../../../hub/base/principal.ts";
import { pagesOf, type WebFeature } from "../feature.ts";
import { webhooksPath } from "./paths.ts";

const { get, post } = pagesOf(() => import("./screens.tsx"));

export const webhooks: WebFeature = {
  name: "webhooks",
  links: [
    {
      ...{ title: "Webhooks", path: webhooksPath },
      isFor: (principal) => may(principal, "projects") && principal.projectId === null,
    },
  ],
  pages: [
    get("/webhooks", (screens) => screens.webhooks),
    post("/webhooks", ({ addWebhook }) => addWebhook),
    get("/webhooks/:webhook", ({ webhook }) => webhook),
    post("/webhooks/:webhook/test", ({ testWebhook }) => testWebhook),
    post("/webhooks/:webhook/redeliver", ({ redeliver }) => redeliver),
    post("/webhooks/:webhook/rotate", ({ rotateWebhook }) => rotateWebhook),
    post("/webhooks/:webhook/enable", ({ enableWebhook }) => enableWebhook),
    post("/webhooks/:webhook/remove", ({ removeWebhook }) => removeWebhook),
  ],
};
