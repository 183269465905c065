import * as z from "zod";
import { later } from "../later.ts";
import { page, pageQuery } from "../paging.ts";
import { noContent, type Route } from "../route.ts";
import {
  deliveryRecord,
  redeliveryAnswer,
  redeliveryRequest,
  webhookRecord,
  webhookRequest,
  webhookRotation,
  webhookSecret,
  webhookTest,
} from "../surfaces/webhooks.ts";

const shared = {
  mount: "devkeys",
  who: { key: ["projects"], boundRefusal: "A key that is bound to a project may not see its owner's webhooks." },
  tags: ["webhooks"],
} as const;

export const addWebhook = {
  ...shared,
  method: "POST",
  path: "/webhooks",
  summary: "Register a receiver of events; its secret is shown this once",
  body: webhookRequest,
  ok: { 201: webhookSecret },
  errors: [404, 409],
  secret: ["url"],
} as const satisfies Route;

export const listWebhooks = {
  ...shared,
  method: "GET",
  path: "/webhooks",
  summary: "The own webhooks",
  query: pageQuery,
  ok: { 200: page(webhookRecord) },
} as const satisfies Route;

export const listDeliveries = {
  ...shared,
  method: "GET",
  path: "/webhooks/:webhook/deliveries",
  summary: "Messages of a webhook that wait, or that never arrived, newest first",
  query: later(() => pageQuery.extend({ state: z.enum(["pending", "dead"]).optional() })),
  ok: { 200: page(deliveryRecord) },
} as const satisfies Route;

export const testWebhook = {
  ...shared,
  method: "POST",
  path: "/webhooks/:webhook/test",
  summary: "Send a message to a webhook now, once, and tell whether it arrived",
  ok: { 200: webhookTest },
  errors: [409],
} as const satisfies Route;

export const redeliver = {
  ...shared,
  method: "POST",
  path: "/webhooks/:webhook/redeliver",
  summary: "Send messages that never arrived again, under their ids",
  body: later(() => redeliveryRequest.nullish()),
  ok: { 200: redeliveryAnswer },
  errors: [409],
} as const satisfies Route;

export const rotateWebhook = {
  ...shared,
  method: "POST",
  path: "/webhooks/:webhook/rotate",
  summary: "Give a webhook another secret; for a time, messages are signed with the old one, too",
  body: later(() => webhookRotation.nullish()),
  ok: { 200: webhookSecret },
} as const satisfies Route;

export const enableWebhook = {
  ...shared,
  method: "POST",
  path: "/webhooks/:webhook/enable",
  summary: "Let a webhook that the hub has disabled hear of events again",
  ok: { 200: webhookRecord },
} as const satisfies Route;

export const removeWebhook = {
  ...shared,
  method: "DELETE",
  path: "/webhooks/:webhook",
  summary: "Remove a webhook with its messages",
  ok: { 204: noContent },
} as const satisfies Route;
