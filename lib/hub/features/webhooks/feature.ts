import { Destinations } from "../../base/destinations.ts";
import type { Queries } from "../../records/port.ts";
import { countByState, selectWhere } from "../../records/rows.ts";
import { subjectOf } from "../../records/subjects.ts";
import type { Core, HubFeature, RunningFeature } from "../feature.ts";
import { tellOfAudit, tellOfHosts } from "./outbox-records.ts";
import { removeDeliveries, removeWebhook } from "./records.ts";
import { webhooks as webhookRoutes } from "./routes.ts";
import { Webhooks } from "./sender.ts";
import { own, webhookDeliveries, webhooks as webhookTable } from "./tables.ts";

/** Time for which undelivered messages are kept, in milliseconds. */
const MESSAGE_AGE_MS = 30 * 24 * 60 * 60 * 1000;

export interface WebhookOptions {
  /** Names, addresses and ranges (CIDR) outside the public internet that webhooks may use. Default: none. */
  webhookAllow?: readonly string[];
}

/** Webhooks of a running hub, with its sender. */
interface RunningWebhooks extends RunningFeature {
  sender: Webhooks;
}

/** Webhooks: messages are stored in the transaction that they report, and sent until they arrive. */
export const webhooks: HubFeature<WebhookOptions, RunningWebhooks> = {
  name: "webhooks",
  tables: [webhookTable, webhookDeliveries],
  onAudit: tellOfAudit,
  onReports: tellOfHosts,
  contentsOf: async (db, project) => ({ webhooks: (await webhooksOf(db, subjectOf(project))).length }),
  async onDelete(transaction, project) {
    for (const { id } of await webhooksOf(transaction, subjectOf(project))) await removeWebhook(transaction, id);
  },
  async start(core, { webhookAllow }) {
    const { database, keyring, clock, logger, metrics } = core;
    const onFailure = () => metrics?.upkeepFailed("webhooks");
    const destinations = new Destinations(webhookAllow);
    const sender = new Webhooks({ database, keyring, clock, logger, onFailure, destinations });
    return {
      sender,
      routes: (options) => webhookRoutes(options, sender),
      chores: { "old messages of webhooks": () => removeOldMessages(core) },
      gauges: [
        {
          name: "sealift_hub_webhook_messages",
          help: "Messages that wait for webhooks, and those that never arrived",
          labels: ["state"],
          read: () => countByState(database.kysely, "webhook_deliveries"),
        },
      ],
      [Symbol.asyncDispose]: () => sender[Symbol.asyncDispose](),
    };
  },
};

const webhooksOf = (db: Queries, target: string): Promise<{ id: string }[]> =>
  selectWhere(own(db), "webhooks", { target }).select("id").execute();

async function removeOldMessages({ database, clock, logger }: Core): Promise<void> {
  const removed = await removeDeliveries(database.kysely, new Date(clock() - MESSAGE_AGE_MS).toISOString());
  if (removed > 0) logger?.warn({ removed }, "removed old messages that never reached their webhooks");
}
