import type { ListFacts } from "../facts/list-facts.ts";
import type { DeliveryRecord, WebhookRecord } from "../surfaces/webhooks.ts";

/** Returns the name by which people know a webhook. */
export const webhookName = ({ name, id }: WebhookRecord): string => (name === "" ? id : name);

/** Returns the events that a webhook hears of. */
export const eventsText = ({ events }: WebhookRecord): string =>
  events.length === 0 ? "all events" : events.join(", ");

/** Facts of a list of webhooks. */
export const WEBHOOK_FACTS = {
  name: { title: "Webhook", text: webhookName },
  origin: { title: "To", text: ({ origin }) => origin, only: "command" },
  state: {
    title: "State",
    text: ({ state, last_error: error }) =>
      state === "disabled" ? "disabled" : error === null ? "works" : `fails: ${error}`,
  },
  events: { title: "Hears of", text: eventsText, only: "page" },
  target: { title: "Target", text: ({ target }) => target ?? "all" },
  pending: { title: "Waiting", text: ({ pending }) => String(pending), column: "num" },
  // Those that had no room never arrive, either.
  dead: { title: "Dead", text: ({ dead, dropped }) => String(dead + dropped), column: "num" },
  last_delivered_at: { title: "Last delivered", at: ({ last_delivered_at: at }) => at, none: "never" },
} as const satisfies ListFacts<WebhookRecord>;

/** Facts of a list of messages. */
export const DELIVERY_FACTS = {
  id: { title: "Message", text: ({ id }) => id, only: "command" },
  type: { title: "Event", text: ({ type }) => type },
  state: { title: "State", text: ({ state }) => (state === "dead" ? "dead" : "waiting") },
  attempts: { title: "Attempts", text: ({ attempts }) => String(attempts), column: "num" },
  created_at: { title: "Made", at: ({ created_at: at }) => at, none: "" },
  next_attempt_at: { title: "Next attempt", at: ({ next_attempt_at: at }) => at, none: "never" },
  last_error: { title: "Last error", text: ({ last_error: error }) => error ?? "", column: "why" },
} as const satisfies ListFacts<DeliveryRecord>;
