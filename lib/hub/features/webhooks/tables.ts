import * as z from "zod";
import { webhookEvent } from "../../../contract/surfaces/webhooks.ts";
import { count, json, name, text, time } from "../../records/columns.ts";
import type { Queries } from "../../records/port.ts";
import { type RowOf, table } from "../../records/table.ts";

/** Webhooks. URL and secrets are sealed, as `webhook/<id>`. */
export const webhooks = table(
  "webhooks",
  {
    id: name,
    owner: name,
    name: text,
    /** Scheme, host and port of its URL: the path may be a secret. */
    origin: name,
    format: z.enum(["json", "slack"]),
    /** Subscribed event types, separated by spaces; empty for all. */
    events: text,
    /** Only target whose events it receives, by its name in the audit log; null for all. */
    target: text.nullable(),
    created_at: time,
    last_delivered_at: time.nullable(),
    /** Since when no delivery has worked; null when the last one did. */
    failing_since: time.nullable(),
    last_error: text.nullable(),
    disabled_at: time.nullable(),
    /** Messages dropped because too many were waiting. */
    dropped: count,
  },
  { indexes: { webhooks_owner: ["owner", "id"] } },
);
export type WebhooksTable = RowOf<typeof webhooks>;

/**
 * Messages on their way to a webhook, or never delivered. Not a foreign key: a publication must not fail because a
 * webhook is removed at the same moment.
 */
export const webhookDeliveries = table(
  "webhook_deliveries",
  {
    /** Id by which a receiver recognizes repeats. */
    id: name,
    webhook_id: name,
    event: webhookEvent,
    /** The message, as JSON. */
    body: json,
    state: z.enum(["pending", "dead"]),
    attempts: count,
    /** Time when it is due. A hub that claims it moves this forward, so that no other hub takes it meanwhile. */
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
