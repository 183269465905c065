import * as z from "zod";
import { targetForm, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { TEST_EVENT, WEBHOOK_EVENTS, WEBHOOK_FORMATS } from "../webhook-events.ts";

/** Webhooks on the wire (docs/webhooks.md). */

const subscribed = later(() => z.enum(WEBHOOK_EVENTS));
export const webhookEvent = later(() => z.enum([...WEBHOOK_EVENTS, TEST_EVENT]));

const webhookFormat = later(() => z.enum(WEBHOOK_FORMATS));

export const webhookRequest = later(() =>
  z.strictObject({
    /** Address of the receiver. It may hold a secret: answers show only its origin. */
    url: z.string().min(1).max(2048),
    name: z.string().max(128).optional(),
    /** Subscribed events. Default: all. */
    events: z.array(subscribed).min(1).max(WEBHOOK_EVENTS.length).optional(),
    /** Only target whose events are sent. Default: all. */
    target: targetForm.optional(),
    format: webhookFormat.optional(),
  }),
);
export type WebhookRequest = z.infer<typeof webhookRequest>;

export const webhookRecord = later(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    origin: z.string(),
    format: webhookFormat,
    /** Subscribed events; empty for all. */
    events: z.array(z.string()),
    target: z.string().nullable(),
    /** `disabled` by the hub, because nothing arrived for days or the receiver answered 410. */
    state: z.enum(["enabled", "disabled"]),
    created_at: timestamp,
    last_delivered_at: timestamp.nullable(),
    failing_since: timestamp.nullable(),
    last_error: z.string().nullable(),
    /** Messages that wait for an attempt; `dead` counts those that were given up. */
    pending: z.int().nonnegative(),
    dead: z.int().nonnegative(),
    /** Messages dropped because too many were waiting. */
    dropped: z.int().nonnegative(),
  }),
);
export type WebhookRecord = z.infer<typeof webhookRecord>;

/** Webhook with its secret, which is returned only this once. */
export const webhookSecret = later(() => webhookRecord.extend({ secret: z.string() }));
export type WebhookSecret = z.infer<typeof webhookSecret>;

export const webhookRotation = later(() =>
  z.strictObject({
    /** Time for which messages are signed with the old secret, too, in seconds. */
    grace_seconds: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .optional(),
  }),
);

export const deliveryRecord = later(() =>
  z.object({
    id: z.string(),
    type: webhookEvent,
    state: z.enum(["pending", "dead"]),
    attempts: z.int().nonnegative(),
    next_attempt_at: timestamp.nullable(),
    last_error: z.string().nullable(),
    created_at: timestamp,
  }),
);
export type DeliveryRecord = z.infer<typeof deliveryRecord>;

export const webhookTest = later(() => z.object({ delivered: z.boolean(), error: z.string().nullable() }));
export type WebhookTest = z.infer<typeof webhookTest>;

/** Message to send again. Default: every dead one. */
export const redeliveryRequest = later(() => z.strictObject({ delivery: z.string().max(64).optional() }));
export const redeliveryAnswer = later(() => z.object({ redelivered: z.int().nonnegative() }));
