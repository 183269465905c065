import type {
  DeliveryRecord,
  WebhookRecord,
  WebhookRequest,
  WebhookSecret,
  WebhookTest,
} from "../contract/surfaces/webhooks.ts";
import * as webhooks from "../contract/webhooks/routes.ts";
import { ask, type Asking, askPages } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";
import { findOne } from "./lookup.ts";

/** Client of the webhooks of a hub (docs/webhooks.md). @throws AuthenticationError, DeploymentError */
export class WebhooksClient {
  readonly #asking: Asking;

  constructor(hub: HubConnection) {
    this.#asking = { operation: "keys", hub };
  }

  /** Registers a webhook. Its secret is returned only this once. */
  add(webhook: WebhookRequest): Promise<WebhookSecret> {
    return ask(webhooks.addWebhook, { body: webhook }, this.#asking);
  }

  /** Lists the caller's webhooks, page by page. */
  list(): AsyncGenerator<WebhookRecord> {
    return askPages(webhooks.listWebhooks, {}, this.#asking);
  }

  /** Finds a webhook by its id or name. @throws DeploymentError `not_found`; UsageError `usage` for several */
  called(text: string): Promise<WebhookRecord> {
    return findOne(text, this.list(), [({ id }) => id === text, ({ name }) => name === text], {
      what: "webhook",
      list: "sealift webhook list",
      nameOf: ({ name }) => name,
      shown: ({ id, origin }) => `${id} (${origin})`,
    });
  }

  /** Lists the waiting and dead messages of a webhook, newest first, page by page. */
  deliveries(id: string): AsyncGenerator<DeliveryRecord> {
    return askPages(webhooks.listDeliveries, { params: { webhook: id } }, this.#asking);
  }

  /** Sends a message to a webhook now. */
  test(id: string): Promise<WebhookTest> {
    return ask(webhooks.testWebhook, { params: { webhook: id } }, this.#asking);
  }

  /** Sends one dead message again, or all of them. @returns how many */
  async redeliver(id: string, delivery?: string): Promise<number> {
    const given = { params: { webhook: id }, body: { delivery } };
    return (await ask(webhooks.redeliver, given, this.#asking)).redelivered;
  }

  /** Replaces a webhook's secret; the old one signs messages, too, for a grace period. */
  rotate(id: string, graceSeconds: number): Promise<WebhookSecret> {
    const given = { params: { webhook: id }, body: { grace_seconds: graceSeconds } };
    return ask(webhooks.rotateWebhook, given, this.#asking);
  }

  /** Enables a webhook that the hub has disabled. */
  enable(id: string): Promise<WebhookRecord> {
    return ask(webhooks.enableWebhook, { params: { webhook: id } }, this.#asking);
  }

  remove(id: string): Promise<void> {
    return ask(webhooks.removeWebhook, { params: { webhook: id } }, this.#asking);
  }
}
