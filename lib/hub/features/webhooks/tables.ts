import * as z from "zod";
import { webhookEvent } from "../../../contract/surfaces/webhooks.ts";
import { count, json, name, text, time } from "../../records/columns.ts";
import type { Queries } from "../../records/port.ts";
import { type RowOf, table } from "../../records/table.ts";

/** A receiver of events. Its address and its secrets are sealed, as `webhook/<id>`. */
export const webhooks = table(
  "webhooks",
  {
    id: name,
    owner: name,
    name: text,
    /** Scheme, host and port of its address: the path may be a secret. */
    origin: name,
    format: z.enum(["json", "slack"]),
    /** Types of events, separated by spaces; empty for all. */
    events: text,
    /** The only target that it hears of, as the audit log names it; null for all. */
    target: text.nullable(),
    created_at: time,
    last_delivered_at: time.nullable(),
    /** Since when no delivery has worked; null when the last one did. */
    failing_since: time.nullable(),
    last_error: text.nullable(),
    disabled_at: time.nullable(),
    /** Messages that were not kept because too many waited. */
    dropped: count,
  },
  { indexes: { webhooks_owner: ["owner", "id"] } },
);
export type WebhooksTable = RowOf<typeof webhooks>;

/**
 * A message on its way to a webhook, or one that never arrived. It does not refer to the webhook: a publication must
 * not fail because one goes at the same moment.
 */
export const webhookDeliveries = table(
  "webhook_deliveries",
  {
    /** The id by which a receiver knows it again. */
    id: name,
    webhook_id: name,
    event: webhookEvent,
    /** The message, as JSON. */
    body: json,
    state: z.enum(["pending", "dead"]),
    attempts: count,
    /** When it is due. A hub that takes it moves this on, so that no other takes it meanwhile. */
    next_at: time,
    last_error: text.nullable(),
    created_at: time,
  },
  { indexes: { deliveries_webhook: ["webhook_id", "state", "id"], deliveries_due: ["state", "next_at"] } },
);
export type WebhookDeliveriesTable = RowOf<typeof webhookDeliveries>;

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = { webhooks: WebhooksTable; webhook_deliveries: WebhookDeliveriesTable };

/** The database with the tables of this feature. */
export const own = (db: Queries) => db.withTables<OwnTables>();
