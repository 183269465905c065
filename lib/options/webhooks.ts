import { WEBHOOK_EVENTS, WEBHOOK_FORMATS } from "../contract/webhook-events.ts";
import { parsePlace } from "./addresses.ts";
import { connection } from "./connection.ts";
import { removal } from "./devkeys.ts";
import { choice, duration, list, text } from "./kinds.ts";
import { group, guarded, required, type Values } from "./option.ts";
import { secret } from "./secrets.ts";

/** Options of the commands for webhooks. */

function eventOf(text: string): (typeof WEBHOOK_EVENTS)[number] {
  const event = WEBHOOK_EVENTS.find((known) => known === text);
  if (event === undefined) throw new Error(`is one of ${WEBHOOK_EVENTS.join(", ")}, not ${JSON.stringify(text)}`);
  return event;
}

/** Options of `hub serve` for webhooks. */
export const webhookServing = group("Server", {
  webhookAllow: guarded(
    list(
      {
        metavar: "PLACE",
        help: "Host, address or network (CIDR) that webhooks may lead to",
        defaultText: "the public internet by https",
      },
      parsePlace,
    ),
  ),
});

/** Returns the hub's settings from these options. */
export const webhookServingOf = ({ webhookAllow }: Values<typeof webhookServing>) =>
  webhookAllow.length > 0 ? { webhookAllow } : {};

/** Options of `webhook add`. */
export const webhookAddition = {
  ...group("Webhook", {
    webhookUrl: required(
      secret({ metavar: "URL", help: "Where messages go; a chat's URL is a secret" }),
      "Give --webhook-url https://…, or --webhook-url-file with a file that holds it.",
    ),
    name: text({ metavar: "NAME", help: "What it is for, and how commands call it" }),
    event: list(
      {
        metavar: "EVENT",
        help: "A type of event to hear of; may be repeated",
        defaultText: "all",
        choices: WEBHOOK_EVENTS,
        commas: true,
      },
      eventOf,
    ),
    target: text({ metavar: "TARGET", help: "The only project, plugin or service", defaultText: "all" }),
    format: choice(WEBHOOK_FORMATS, { help: "Messages as data, or as a text for chats", default: "json" }),
  }),
  ...connection,
};

/** Options of `webhook redeliver`. */
export const webhookRedelivery = {
  ...group("Webhook", {
    delivery: text({ metavar: "MESSAGE", help: "One message by its id", defaultText: "all that are dead" }),
  }),
  ...connection,
};

/** Options of `webhook rotate`. */
export const webhookRotation = {
  ...group("Webhook", {
    graceMs: duration({
      name: "grace",
      needsUnit: true,
      help: "How long the old secret signs, too",
      default: 86_400_000,
    }),
  }),
  ...connection,
};

/** Options of `webhook remove`. */
export const webhookRemoval = removal;
